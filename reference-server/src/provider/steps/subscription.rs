//! The subscription behind the provider.
//!
//! - `subscription {"tier"?, "window"?, "weekly"?, "refreshFails"?}`: its use is observed; `window` and `weekly` are percents.
//!   `usage/changed` goes out where that is new (MISC-6). `refreshFails` makes `usage/refresh` fail with that kind from now on.
//!
//! Example: `subscription {"tier":"pro","window":40,"weekly":12}`

use serde_json::json;

use super::{Args, Stage, Verb};
use crate::commands::usage;
use crate::session::{Action, Core};

pub(super) const VERBS: &[Verb] =
    &[Verb { name: "subscription", members: &["tier", "window", "weekly", "refreshFails"], expand: subscription }];

fn subscription(args: &mut Args, _: &mut Stage<'_>) -> Result<Vec<Action>, String> {
    let tier = args.text("tier")?.unwrap_or_else(|| "pro".to_owned());
    let (window, weekly) = (args.number("window")?.unwrap_or(0), args.number("weekly")?.unwrap_or(0));
    let refresh_fails = args.text("refreshFails")?;
    args.end()?;
    let figures = json!({
        "tier": tier,
        "window": { "usedPercent": window, "windowDurationMins": 300 },
        "weekly": { "usedPercent": weekly },
    });
    Ok(vec![Action::Do(Box::new(move |core: &mut Core| {
        usage::observe(&core.host, figures, refresh_fails);
        Vec::new()
    }))])
}
