//! What comes before the WebSocket: one HTTP request, read with limits, checked, and answered.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Longest head of a request.
const HEAD_LIMIT: usize = 16 * 1024;
/// Most headers.
const HEADERS: usize = 64;
/// Longest wait for the head, as an engine has it.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Who may connect.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Token that has to be presented, as `Authorization: Bearer TOKEN` or as the query member `token`.
    pub token: Option<String>,
    /// Origins of web pages that may connect, such as `http://localhost:3000`; the endpoint's own page always may.
    pub origins: Vec<String>,
    /// Names that the endpoint may be called by beside those of the loopback; a page that rebinds its own name is not among them.
    pub hosts: Vec<String>,
}

/// A page that answers a plain `GET`.
#[derive(Clone, Debug)]
pub struct Page {
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// A request as far as it matters here.
#[derive(Debug, Default)]
pub(crate) struct Head {
    get: bool,
    path: String,
    query: String,
    key: Option<String>,
    upgrade: bool,
    authorization: Option<String>,
    origin: Option<String>,
    host: Option<String>,
}

/// What to do with a connection.
pub(crate) enum Decision {
    /// It goes on as a WebSocket, with these bytes read already.
    Upgrade(Vec<u8>),
    /// It wants a page.
    Page(String),
    /// It is refused.
    Refused(&'static str, &'static str),
}

/// Reads the head and decides. `None`: nothing readable came in time.
pub(crate) async fn decide(stream: &mut TcpStream, access: &Access, local: SocketAddr) -> Option<Decision> {
    let (head, rest) = timeout(HEAD_TIME, read(stream)).await.ok()??;
    if !host_is_known(head.host.as_deref(), access, local) {
        return Some(Decision::Refused("403 Forbidden", "this endpoint is not called by that name"));
    }
    if !origin_is_known(&head, access) {
        return Some(Decision::Refused("403 Forbidden", "pages of that origin may not connect"));
    }
    if !token_fits(&head, access) {
        return Some(Decision::Refused("401 Unauthorized", "a token is required"));
    }
    if !head.get {
        return Some(Decision::Refused("405 Method Not Allowed", "only GET is served"));
    }
    let Some(key) = head.key.filter(|_| head.upgrade) else { return Some(Decision::Page(head.path)) };
    if head.path != "/" {
        return Some(Decision::Refused("404 Not Found", "nothing is served under that path"));
    }
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {}\r\n\
         x-iii-capabilities: tcp-nodelay\r\n\r\n",
        derive_accept_key(key.as_bytes())
    );
    stream.write_all(answer.as_bytes()).await.ok()?;
    Some(Decision::Upgrade(rest))
}

async fn read(stream: &mut TcpStream) -> Option<(Head, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if bytes.len() > HEAD_LIMIT || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let rest = bytes.split_off(end);
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(&bytes).ok()?;
    let target = request.path?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut head =
        Head { get: request.method == Some("GET"), path: path.to_owned(), query: query.to_owned(), ..Head::default() };
    for header in request.headers.iter() {
        let value = std::str::from_utf8(header.value).ok()?.trim().to_owned();
        match header.name.to_ascii_lowercase().as_str() {
            "sec-websocket-key" => head.key = Some(value),
            "upgrade" => head.upgrade = value.eq_ignore_ascii_case("websocket"),
            "authorization" => head.authorization = Some(value),
            "origin" => head.origin = Some(value),
            "host" => head.host = Some(value),
            _ => {}
        }
    }
    Some((head, rest))
}

/// The host is the loopback, the address that was bound, or one of the list.
fn host_is_known(host: Option<&str>, access: &Access, local: SocketAddr) -> bool {
    let Some(host) = host else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let own = match local {
        SocketAddr::V4(local) => local.ip().to_string(),
        SocketAddr::V6(local) => format!("[{}]", local.ip()),
    };
    let known = ["127.0.0.1", "localhost", "[::1]", own.as_str()];
    known.iter().any(|known| known.eq_ignore_ascii_case(name))
        || access.hosts.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(host))
}

/// No page at all, our own, or one of the list.
fn origin_is_known(head: &Head, access: &Access) -> bool {
    let Some(origin) = &head.origin else { return true };
    let own = head.host.as_ref().map(|host| format!("http://{host}"));
    own.as_ref() == Some(origin) || access.origins.contains(origin)
}

fn token_fits(head: &Head, access: &Access) -> bool {
    let Some(token) = &access.token else { return true };
    let bearer = head.authorization.as_deref().and_then(|value| value.strip_prefix("Bearer "));
    let query = head.query.split('&').find_map(|member| member.strip_prefix("token="));
    bearer.is_some_and(|given| same(given, token)) || query.is_some_and(|given| same(given, token))
}

/// Compares in a time that does not depend on where two texts differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// Answers and closes.
pub(crate) async fn finish(stream: &mut TcpStream, status: &str, content_type: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n",
        body.len()
    );
    let written = async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        stream.shutdown().await
    };
    let _gone = timeout(HEAD_TIME, written).await; // a peer that left needs no answer
}
