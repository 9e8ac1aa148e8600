//! Bytes to lines and frames to bytes, over any pair of pipes: stdin and stdout, or the ends of a duplex in memory.

mod lines;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

pub use self::lines::{Line, Lines};
use crate::connection::Connection;
use crate::host::Host;

/// Longest that a drain waits for the peer to read what is left (LIM-10: a client waits 30 s).
const FLUSH_TIMEOUT: Duration = Duration::from_secs(20);

/// Serves one connection until its input ends or nobody reads its output, then drains the host (EXIT-3, EXIT-5).
///
/// # Errors
/// When the input cannot be read. The host is drained all the same.
pub async fn serve<R, W>(host: &Arc<Host>, input: R, output: W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let connection = Connection::open(host);
    let mut writer = tokio::spawn(write(Arc::clone(&connection), output));
    let read = tokio::select! {
        read = read(host, &connection, input) => read,
        _ = &mut writer => {
            host.complain("nobody reads the output any more");
            host.drain().await;
            return Ok(());
        }
    };
    host.drain().await;
    connection.outbox.close();
    if tokio::time::timeout(FLUSH_TIMEOUT, writer).await.is_err() {
        host.complain("the output was not read to its end");
    }
    read
}

async fn read<R: AsyncRead + Unpin>(host: &Arc<Host>, connection: &Arc<Connection>, input: R) -> io::Result<()> {
    let mut lines = Lines::new(input, host.config.frame_limit);
    while let Some(line) = lines.next().await? {
        match line {
            Line::Whole(line) => {
                let line = host.seam().incoming(line);
                if let Some(line) = line {
                    connection.receive(&line);
                }
            }
            Line::Oversized(prefix) => connection.refuse_oversized(&prefix),
        }
        tokio::task::yield_now().await; // sessions go on however many requests come
        connection.outbox.room().await;
    }
    Ok(())
}

/// Writes frames in order, and flushes when there is nothing left to add.
async fn write<W: AsyncWrite + Unpin>(connection: Arc<Connection>, mut output: W) {
    while let Some(frames) = connection.outbox.pop().await {
        let written = match output.write_all(&frames).await {
            Ok(()) => output.flush().await,
            Err(error) => Err(error),
        };
        if written.is_err() {
            connection.outbox.break_off();
            return;
        }
    }
}
