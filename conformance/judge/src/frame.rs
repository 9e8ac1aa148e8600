//! One frame in the fast lane: its envelope, its method, and whether everything in it is certainly good.

use crate::pairing::{IdRef, Open, Pending};
use crate::schema::Schema;
use crate::schema::program::{Id, Kinds};
use crate::schema::scan::{Ask, Scanner, Why};
use crate::transcript::Side;

/// A frame that is certainly good.
#[derive(Debug)]
pub(crate) struct Good<'b> {
    pub(crate) side: Option<Side>,
    pub(crate) shape: Shape<'b>,
}

/// What kind of frame it is.
#[derive(Debug)]
pub(crate) enum Shape<'b> {
    Request {
        id: IdRef<'b>,
        method: usize,
    },
    /// Nothing that is answered, or an error that answers nothing.
    Notification,
    /// A response to an open request, or to none that is known; `result` are the bytes of its result.
    Response {
        id: IdRef<'b>,
        pending: Option<Pending>,
        result: Option<&'b [u8]>,
    },
}

/// What the fast lane needs to know beside the frame.
pub(crate) struct Fast<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) open: &'s Open,
    pub(crate) conn: u32,
    pub(crate) side: Option<Side>,
    pub(crate) broken: Option<Why>,
}

/// A look at the table of open requests.
#[derive(Clone, Copy, Default)]
enum Looked {
    #[default]
    NotYet,
    At(Option<(Side, Pending)>),
}

/// What a member is checked against.
#[derive(Clone, Copy)]
enum Against {
    /// Not known yet.
    Later,
    /// Nothing but being an object.
    Object,
    Node(Id),
}

impl From<Option<Id>> for Against {
    fn from(node: Option<Id>) -> Self {
        node.map_or(Self::Object, Self::Node)
    }
}

/// A member whose value is checked once it is known against what.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    checked: bool,
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for one member of the envelope")]
struct Members<'b> {
    version: bool,
    id: Option<IdRef<'b>>,
    null_id: bool,
    method: Option<usize>,
    params: Option<Part>,
    result: Option<Part>,
    /// The request that is answered, once the result has asked for it.
    pending: Looked,
    error: bool,
    trace: Option<Part>,
    emitted: bool,
}

impl Fast<'_> {
    /// Reads a frame once. Its bytes have to be UTF-8.
    pub(crate) fn read<'b>(&self, bytes: &'b [u8], unnamed: &mut Vec<u64>) -> Result<Good<'b>, Ask> {
        unnamed.clear();
        let mut scan = Scanner { program: &self.schema.program, bytes, at: 0, unnamed, broken: self.broken };
        let mut seen = Members::default();
        scan.members(|scan, name, open| self.member(scan, &mut seen, name, open))?;
        scan.end()?;
        if !seen.version {
            scan.ask(Why::Envelope)?;
        }
        match (seen.method, seen.id) {
            (Some(method), id) if !seen.null_id => self.call(&mut scan, &seen, method, id),
            (None, Some(id)) => self.response(&mut scan, &seen, id),
            // An error for something whose id could not be read.
            (None, None) if seen.null_id && seen.error && seen.result.is_none() && seen.params.is_none() => {
                Ok(Good { side: self.side, shape: Shape::Notification })
            }
            _ => Err(Ask(Why::Envelope)),
        }
    }

    fn member<'b>(
        &self,
        scan: &mut Scanner<'_, 'b, '_>,
        seen: &mut Members<'b>,
        name: &'b [u8],
        open: usize,
    ) -> Result<(), Ask> {
        scan.peek()?;
        match name {
            b"jsonrpc" if !seen.version => {
                seen.version = true;
                if scan.peek()? != b'"' || scan.string()? != (b"2.0", false) {
                    return Err(Ask(Why::Envelope));
                }
                Ok(())
            }
            b"id" if seen.id.is_none() && !seen.null_id && scan.peek()? == b'n' => {
                seen.null_id = true;
                scan.skip(1).map(drop)
            }
            b"id" if seen.id.is_none() && !seen.null_id => {
                seen.id = Some(id(scan)?);
                Ok(())
            }
            b"method" if seen.method.is_none() => {
                if scan.peek()? != b'"' {
                    return Err(Ask(Why::Envelope));
                }
                let (text, escaped) = scan.string()?;
                let found = if escaped { None } else { self.schema.find_method(text) };
                seen.method = Some(found.ok_or(Ask(Why::Method))?);
                Ok(())
            }
            b"params" if seen.params.is_none() => {
                let against = seen.method.map_or(Against::Later, |method| {
                    let root = self.schema.methods[method].params.as_ref();
                    root.map(|root| root.node).into()
                });
                seen.params = Some(part(scan, against)?);
                Ok(())
            }
            b"result" if seen.result.is_none() => {
                let against = match seen.id {
                    Some(id) => {
                        let pending = self.open.find(self.conn, self.side, id);
                        seen.pending = Looked::At(pending);
                        self.result_node(pending).into()
                    }
                    None => Against::Later,
                };
                seen.result = Some(part(scan, against)?);
                Ok(())
            }
            b"error" if !seen.error => {
                seen.error = true;
                match self.schema.error_object {
                    Some(node) => scan.check(node, 1),
                    None => object(scan),
                }
            }
            b"trace" if seen.trace.is_none() => {
                seen.trace = Some(part(scan, self.schema.trace.into())?);
                Ok(())
            }
            b"emittedAtMs" if !seen.emitted => {
                seen.emitted = true;
                if scan.skip(1)? == Kinds::INTEGER { Ok(()) } else { Err(Ask(Why::Envelope)) }
            }
            _ => {
                if matches!(
                    name,
                    b"jsonrpc" | b"id" | b"method" | b"params" | b"result" | b"error" | b"trace" | b"emittedAtMs"
                ) {
                    scan.ask(Why::Duplicate)?;
                }
                scan.note_unnamed(name, open)?;
                scan.skip(1).map(drop)
            }
        }
    }

    fn result_node(&self, pending: Option<(Side, Pending)>) -> Option<Id> {
        let method = pending?.1.method?;
        self.schema.methods[method].result.as_ref().map(|root| root.node)
    }

    fn call<'b>(
        &self,
        scan: &mut Scanner<'_, 'b, '_>,
        seen: &Members<'b>,
        method: usize,
        id: Option<IdRef<'b>>,
    ) -> Result<Good<'b>, Ask> {
        if seen.error || seen.result.is_some() {
            return Err(Ask(Why::Envelope));
        }
        let row = &self.schema.methods[method];
        if row.carrier.is_request() != id.is_some() {
            return Err(Ask(Why::Method));
        }
        let sender = row.carrier.sender();
        if self.side.is_some_and(|side| side != sender) {
            scan.ask(Why::Method)?;
        }
        match seen.params {
            Some(part) => finish(scan, part, row.params.as_ref().map(|root| root.node))?,
            None if row.params.as_ref().is_none_or(|root| root.empty_fits) => {}
            None => scan.ask(Why::Missing)?,
        }
        let shape = match id {
            Some(id) => Shape::Request { id, method },
            None => Shape::Notification,
        };
        Ok(Good { side: Some(sender), shape })
    }

    fn response<'b>(&self, scan: &mut Scanner<'_, 'b, '_>, seen: &Members<'b>, id: IdRef<'b>) -> Result<Good<'b>, Ask> {
        if seen.error == seen.result.is_some() || seen.params.is_some() {
            return Err(Ask(Why::Envelope));
        }
        let pending = match seen.pending {
            Looked::At(pending) => pending,
            Looked::NotYet => self.open.find(self.conn, self.side, id),
        };
        if let Some(part) = seen.result {
            finish(scan, part, self.result_node(pending))?;
        }
        let side = self.side.or(pending.map(|(asker, _)| asker.other()));
        let result = seen.result.map(|part| &scan.bytes[part.start..part.end]);
        Ok(Good { side, shape: Shape::Response { id, pending: pending.map(|(_, it)| it), result } })
    }
}

/// Reads a member that has to be an object: along its node where that is known already, else passing over it.
fn part(scan: &mut Scanner<'_, '_, '_>, against: Against) -> Result<Part, Ask> {
    if scan.peek()? != b'{' {
        return Err(Ask(Why::Envelope));
    }
    let start = scan.at;
    match against {
        Against::Node(node) => scan.check(node, 1)?,
        Against::Later | Against::Object => object(scan)?,
    }
    Ok(Part { start, end: scan.at, checked: !matches!(against, Against::Later) })
}

/// Checks a member that came before it was known against what.
fn finish(scan: &mut Scanner<'_, '_, '_>, part: Part, node: Option<Id>) -> Result<(), Ask> {
    match node {
        Some(node) if !part.checked => {
            scan.at = part.start;
            scan.check(node, 1)
        }
        _ => Ok(()),
    }
}

fn object(scan: &mut Scanner<'_, '_, '_>) -> Result<(), Ask> {
    if scan.skip(1)? == Kinds::OBJECT { Ok(()) } else { Err(Ask(Why::Envelope)) }
}

fn id<'b>(scan: &mut Scanner<'_, 'b, '_>) -> Result<IdRef<'b>, Ask> {
    if scan.peek()? == b'"' {
        let (text, escaped) = scan.string()?;
        let text = std::str::from_utf8(text).map_err(|_| Ask(Why::Envelope))?;
        return if escaped { Err(Ask(Why::Envelope)) } else { Ok(IdRef::Text(text)) };
    }
    let start = scan.at;
    if scan.skip(1)? != Kinds::INTEGER {
        return Err(Ask(Why::Envelope));
    }
    let number = std::str::from_utf8(&scan.bytes[start..scan.at]).ok().and_then(|text| text.parse().ok());
    number.map(IdRef::Number).ok_or(Ask(Why::Envelope))
}
