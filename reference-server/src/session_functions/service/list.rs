//! `list`.

use msp_types::session::{ListOrder, ListRequest, ListResponse, SessionKind, SessionMeta};

use super::{Answer, Service, cursor};
use crate::session_functions::filter::holds;
use crate::session_functions::members::given;
use crate::session_functions::store::Position;

impl Service<'_> {
    pub(crate) fn list(&mut self, request: ListRequest) -> Answer<ListResponse> {
        let limit = self.limits.page(request.limit.value().copied());
        let order = request.order.value().cloned().unwrap_or(ListOrder::UpdatedDesc);
        let after = request.cursor.value().map(|text| cursor::in_list(text, &order)).transpose()?;
        let mut rows = Vec::new();
        let mut more = false;
        self.store.scan(&order, after.as_ref(), &mut |meta| {
            if wanted(&request, meta) {
                more = rows.len() == limit;
                if !more {
                    rows.push(SessionMeta::clone(meta));
                }
            }
            !more
        })?;
        let last = rows.last().filter(|_| more).map(|last| cursor::of_list(&order, Position::of(last, &order)));
        let mut answer = ListResponse::new(rows);
        answer.next_cursor = given(last);
        Ok(answer)
    }
}

/// All filters hold (SF-LIST-6).
fn wanted(request: &ListRequest, meta: &SessionMeta) -> bool {
    let kind = meta.kind.as_ref().unwrap_or(&SessionKind::User);
    request.status.value().is_none_or(|status| *status == meta.status)
        && request.kinds.value().is_none_or(|kinds| kinds.contains(kind))
        && request.metadata.value().is_none_or(|wanted| holds(wanted, meta.metadata.value()))
}
