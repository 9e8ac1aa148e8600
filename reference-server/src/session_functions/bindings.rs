//! Who gets events: the one outbox. Events are handed to sinks in commit order, and no sink is waited for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::event::{Event, Trigger, raw};
use super::filter::{Filter, Refusal};

/// Whoever made a binding: a connection. Its bindings go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(pub u64);

/// One event on its way to one binding.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Trigger type on the wire.
    pub trigger_type: &'static str,
    /// The binding.
    pub binding: Arc<Binding>,
    /// The payload.
    pub payload: Arc<RawValue>,
}

/// A binding, as it was asked for.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// Id that its owner chose.
    pub id: String,
    /// Function to call; empty where deliveries need none.
    pub function_id: String,
    /// Handed back with every delivery.
    pub metadata: Option<Value>,
}

/// Takes deliveries. Must not wait: what a subscriber does not read in time is the sink's business.
pub trait Sink: Send + Sync + std::fmt::Debug {
    /// Takes one.
    fn deliver(&self, delivery: Delivery);
}

#[derive(Debug)]
struct Bound {
    trigger: Trigger,
    filter: Filter,
    binding: Arc<Binding>,
    sink: Arc<dyn Sink>,
}

/// The live bindings, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    made: u64,
    live: BTreeMap<u64, Bound>,
    places: HashMap<(Owner, String), u64>,
}

impl Bindings {
    /// Adds a binding, in place of an earlier one with its id.
    ///
    /// # Errors
    /// The trigger type is unknown, or the config does not fit it.
    pub(crate) fn bind(
        &mut self,
        owner: Owner,
        trigger_type: &str,
        config: Option<&Value>,
        binding: Binding,
        sink: Arc<dyn Sink>,
    ) -> Result<(), Refusal> {
        let trigger = Trigger::of(trigger_type)
            .ok_or_else(|| Refusal::UnknownTrigger { trigger_type: trigger_type.to_owned() })?;
        let filter = Filter::read(trigger, config)?;
        self.unbind(owner, &binding.id);
        self.made += 1;
        self.places.insert((owner, binding.id.clone()), self.made);
        self.live.insert(self.made, Bound { trigger, filter, binding: Arc::new(binding), sink });
        Ok(())
    }

    /// Removes a binding; whether there was one.
    pub(crate) fn unbind(&mut self, owner: Owner, id: &str) -> bool {
        let place = self.places.remove(&(owner, id.to_owned()));
        place.is_some_and(|place| self.live.remove(&place).is_some())
    }

    /// Removes the bindings of a connection that is gone.
    pub(crate) fn drop_owner(&mut self, owner: Owner) {
        self.places.retain(|(of, _), place| {
            if *of == owner {
                self.live.remove(place);
            }
            *of != owner
        });
    }

    /// Hands an event to everyone who wants it: local bindings first, then the feed of the bridges (SF-EVT-3).
    pub(crate) fn publish(&self, event: &Event) {
        self.publish_local(event);
        self.publish_feed(event);
    }

    /// Hands an event to the local bindings alone, as one that came through the feed of another instance.
    pub(crate) fn publish_local(&self, event: &Event) {
        let wanting = self.live.values().filter(|bound| bound.trigger == event.trigger && bound.filter.wants(event));
        for bound in wanting {
            bound.sink.deliver(Delivery {
                trigger_type: event.trigger.id(),
                binding: Arc::clone(&bound.binding),
                payload: Arc::clone(&event.payload),
            });
        }
    }

    fn publish_feed(&self, event: &Event) {
        let mut envelope: Option<Arc<RawValue>> = None;
        for bound in self.live.values().filter(|bound| bound.trigger == Trigger::Feed) {
            let payload = envelope.get_or_insert_with(|| raw(&event.envelope()).into());
            bound.sink.deliver(Delivery {
                trigger_type: Trigger::Feed.id(),
                binding: Arc::clone(&bound.binding),
                payload: Arc::clone(payload),
            });
        }
    }
}
