//! The iii worker protocol, small enough to be read: JSON messages over a WebSocket, for three uses.
//!
//! - [`endpoint`]: listens itself, as if it were an engine: any iii SDK connects to it. What it serves is a [`endpoint::Host`].
//! - [`link`]: one connection to an engine or an endpoint that comes back by itself. It hosts functions (a worker), calls them (a
//!   caller), and binds triggers.
//! - [`message`]: the messages, and nothing else.
//!
//! Namespaces, channels, queues, telemetry and observation are not built; what asks for them is refused.

pub mod endpoint;
pub mod link;
pub mod message;

mod http;
mod ids;
mod queue;

pub use message::ErrorBody;

/// Longest message in bytes, in both directions: 64 MiB, as the SDKs have it.
pub const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// What the WebSocket layer accepts.
fn limits() -> tokio_tungstenite::tungstenite::protocol::WebSocketConfig {
    tokio_tungstenite::tungstenite::protocol::WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_LIMIT))
        .max_frame_size(Some(MESSAGE_LIMIT))
}
