//! One prompt by itself: what a host may ask (UIN-2), and which answers fit it (UIN-4).

use super::UIN_2;
use crate::facts::{Id, Placed, Value};
use crate::rules::out::Out;

/// A question, as answers are compared with it.
pub(super) struct Question {
    id: Option<Id>,
    labels: Vec<Id>,
    is_multiple: bool,
    least: usize,
    most: usize,
}

/// Whether answers fit their prompt.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Fit {
    /// They do.
    Yes,
    /// They break exactly one constraint.
    No,
    /// That cannot be said, or other rules say it.
    Unclear,
}

impl Question {
    /// The questions of a prompt.
    pub(super) fn all(params: Value<'_>) -> Vec<Self> {
        params.get("questions").into_iter().flat_map(|it| it.items()).map(Self::of).collect()
    }

    fn of(question: Value<'_>) -> Self {
        let options = || question.get("options").into_iter().flat_map(|it| it.items());
        let bound = |name: &str| {
            let bound = question.path(&["selection", name])?.int()?;
            usize::try_from(bound).ok()
        };
        Self {
            id: question.id_of("id"),
            labels: options().filter_map(|option| option.id_of("label")).collect(),
            is_multiple: question.path(&["selection", "mode"]).is_some_and(|it| it.is("multiple")),
            least: bound("minSelections").unwrap_or(1),
            most: bound("maxSelections").unwrap_or_else(|| options().count()),
        }
    }
}

/// Whether `answers` fit: all questions for an answer, any of them for an interrupt.
pub(super) fn fit(questions: &[Question], answers: Option<Value<'_>>, all: bool) -> Fit {
    if questions.is_empty() {
        return Fit::Unclear;
    }
    let answers: Vec<Value<'_>> = answers.into_iter().flat_map(|it| it.items()).collect();
    if all && answers.is_empty() {
        return Fit::Unclear;
    }
    let mut broken = 0;
    for (index, answer) in answers.iter().enumerate() {
        let id = answer.id_of("questionId");
        broken += usize::from(answers[..index].iter().any(|other| other.id_of("questionId") == id));
        match questions.iter().find(|question| question.id == id) {
            None => broken += 1,
            Some(question) => broken += answer_faults(question, *answer),
        }
        if ["freeText", "note"].iter().any(|name| answer.text_of(name).is_some_and(|it| it.chars().count() > 500)) {
            return Fit::Unclear;
        }
    }
    let is_answered = |question: &Question| answers.iter().any(|answer| answer.id_of("questionId") == question.id);
    let is_lacking = all && !questions.iter().all(is_answered);
    match broken {
        // A question left out is broken by the answer to an unknown one too, which is one fault.
        0 if is_lacking => Fit::No,
        0 => Fit::Yes,
        1 => Fit::No,
        _ => Fit::Unclear,
    }
}

fn answer_faults(question: &Question, answer: Value<'_>) -> usize {
    let forms = ["selectedLabel", "selectedLabels", "freeText"];
    let given = forms.iter().filter(|name| answer.get(name).is_some()).count();
    if given != 1 || answer.get("attachments").is_some() {
        return 1;
    }
    let is_offered = |label: Option<Id>| label.is_some_and(|label| question.labels.contains(&label));
    if answer.get("selectedLabel").is_some() {
        return usize::from(question.is_multiple || !is_offered(answer.id_of("selectedLabel")));
    }
    let Some(labels) = answer.get("selectedLabels") else { return 0 };
    let labels: Vec<Option<Id>> = labels.items().map(|label| label.id()).collect();
    let is_repeated = (1..labels.len()).any(|index| labels[..index].contains(&labels[index]));
    let is_counted = (question.least..=question.most).contains(&labels.len());
    usize::from(!question.is_multiple || is_repeated || !is_counted || !labels.iter().all(|label| is_offered(*label)))
}

/// A text that is over a length, however characters are counted.
fn is_over(text: Option<Value<'_>>, most: usize) -> bool {
    text.and_then(|it| it.text()).is_some_and(|it| it.chars().count() > most && it.encode_utf16().count() > most)
}

/// UIN-2: the bounds of a prompt.
pub(super) fn check(fact: &impl Placed, below: &str, params: Value<'_>, out: &mut Out<'_>) {
    let Some(questions) = params.get("questions") else { return };
    out.exercised(UIN_2);
    let count = questions.items().count();
    if !(1..=3).contains(&count) {
        wrong(fact, &format!("{below}/questions"), "one to three questions", count.to_string(), out);
    }
    for (index, question) in questions.items().enumerate() {
        let place = format!("{below}/questions/{index}");
        let id = question.id_of("id");
        if questions.items().take(index).any(|other| other.id_of("id") == id) {
            wrong(fact, &format!("{place}/id"), "another id for each question", shown(question.get("id")), out);
        }
        for (name, most) in [("id", 64), ("header", 12)] {
            if is_over(question.get(name), most) {
                let expected = format!("at most {most} characters");
                wrong(fact, &format!("{place}/{name}"), &expected, shown(question.get(name)), out);
            }
        }
        let is_multiple = question.path(&["selection", "mode"]).is_some_and(|it| it.is("multiple"));
        options(fact, &place, question, is_multiple, out);
        selection(fact, &place, question, is_multiple, out);
    }
}

fn options(fact: &impl Placed, place: &str, question: Value<'_>, is_multiple: bool, out: &mut Out<'_>) {
    let Some(options) = question.get("options") else { return };
    let count = options.items().count();
    if !(2..=3).contains(&count) {
        wrong(fact, &format!("{place}/options"), "two or three options", count.to_string(), out);
    }
    for (index, option) in options.items().enumerate() {
        let place = format!("{place}/options/{index}");
        let label = option.id_of("label");
        if options.items().take(index).any(|other| other.id_of("label") == label) {
            wrong(fact, &format!("{place}/label"), "another label for each option", shown(option.get("label")), out);
        }
        for (name, most) in [("label", 80), ("description", 240)] {
            if is_over(option.get(name), most) {
                let expected = format!("at most {most} characters");
                wrong(fact, &format!("{place}/{name}"), &expected, shown(option.get(name)), out);
            }
        }
        if let Some(preview) = option.some("preview") {
            if is_multiple {
                wrong(fact, &format!("{place}/preview"), "a preview in single mode only", preview.shown(), out);
            } else if is_over(preview.get("content"), 2000) {
                wrong(fact, &format!("{place}/preview/content"), "at most 2000 characters", "more".to_owned(), out);
            }
        }
    }
}

fn selection(fact: &impl Placed, place: &str, question: Value<'_>, is_multiple: bool, out: &mut Out<'_>) {
    for name in ["minSelections", "maxSelections"] {
        if let (false, Some(bound)) = (is_multiple, question.path(&["selection", name])) {
            wrong(fact, &format!("{place}/selection/{name}"), "a bound in multiple mode only", bound.shown(), out);
        }
    }
    let asked = Question::of(question);
    if is_multiple && (asked.least > asked.most || asked.most > asked.labels.len()) {
        // That the bounds fit each other and the options is understood, not said.
        out.violated(UIN_2, fact, &format!("{place}/selection"))
            .warn()
            .expected("bounds that can be kept")
            .actual(shown(question.get("selection")))
            .done();
    }
}

fn wrong(fact: &impl Placed, place: &str, expected: &str, actual: String, out: &mut Out<'_>) {
    out.violated(UIN_2, fact, place).expected(expected).actual(actual).done();
}

fn shown(value: Option<Value<'_>>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |it| it.shown())
}
