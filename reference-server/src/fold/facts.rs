//! Facts of families: ways to fold them that more than one family needs.

use serde_json::Value;

/// Members of the new fact replace those of the old one; null takes a member away.
pub(super) fn merge(before: Option<Value>, new: &Value) -> Value {
    let mut all = before.and_then(|before| before.as_object().cloned()).unwrap_or_default();
    for (member, value) in new.as_object().into_iter().flatten() {
        if value.is_null() {
            all.remove(member);
        } else {
            all.insert(member.clone(), value.clone());
        }
    }
    Value::Object(all)
}
