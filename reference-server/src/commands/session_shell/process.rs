//! A shell command as a process: both outputs in one pipe, nothing on its input, and a process group of its own, so that whatever
//! it left behind ends with it. Its output is told as it comes, a process that is faster than its listener waits.

use std::io::{self, PipeReader, Read as _};
use std::process::{Child, Command, Stdio};

use tokio::sync::mpsc::Sender;

use super::text::Decoder;

/// Bytes of output that are kept; what follows is read and dropped.
const KEPT: usize = 16 * 1024 * 1024;

/// A process that runs.
pub(super) struct Process {
    child: Child,
    output: PipeReader,
}

/// How it ended.
pub(super) struct Ended {
    /// What it wrote, in the order in which it came; bytes that are no UTF-8 are replaced.
    pub(super) output: String,
    /// The code, where it ended by one.
    pub(super) code: Option<i32>,
    /// The number of the signal that ended it.
    pub(super) signal: Option<i32>,
}

/// Starts a command in a folder.
pub(super) fn start(text: &str, folder: Option<&str>) -> io::Result<Process> {
    let (output, input) = io::pipe()?;
    let mut command = shell(text);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
    let child = command.spawn()?;
    drop(command); // it holds the writing end, and the reader waits for the last one to go
    Ok(Process { child, output })
}

#[cfg(unix)]
fn shell(text: &str) -> Command {
    use std::os::unix::process::CommandExt as _;

    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]).process_group(0);
    command
}

#[cfg(not(unix))]
fn shell(text: &str) -> Command {
    let mut command = Command::new("cmd");
    command.args(["/C", text]);
    command
}

impl Process {
    /// The id of its group.
    pub(super) fn group(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, and tells its output meanwhile. `before_reaping` is called while its id is still its own.
    pub(super) fn wait(self, pieces: Sender<String>, before_reaping: impl FnOnce()) -> Ended {
        let Self { mut child, output } = self;
        let reader = std::thread::spawn(move || read(output, &pieces));
        wait_unreaped(&child);
        kill(child.id()); // what it left in the background would keep the pipe open
        before_reaping();
        let status = child.wait();
        let output = reader.join().unwrap_or_default();
        let (code, signal) = status.map_or((None, None), |status| (status.code(), signal_of(status)));
        Ended { output, code, signal }
    }
}

fn read(mut output: PipeReader, pieces: &Sender<String>) -> String {
    let (mut kept, mut decoder, mut left) = (String::new(), Decoder::default(), KEPT);
    let mut tell = |piece: String| {
        kept.push_str(&piece);
        if !piece.is_empty() {
            let _ = pieces.blocking_send(piece); // nobody listens where the session is gone
        }
    };
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match output.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                let length = length.min(left);
                left -= length;
                tell(decoder.push(chunk.get(..length).unwrap_or_default()));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    tell(decoder.end());
    kept
}

#[cfg(unix)]
fn signal_of(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_: std::process::ExitStatus) -> Option<i32> {
    None
}

/// Waits for the end and leaves the id taken.
#[cfg(unix)]
fn wait_unreaped(child: &Child) {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let Some(pid) = group_of(child.id()) else { return };
    let ends = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    while ends().is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

#[cfg(not(unix))]
fn wait_unreaped(_: &Child) {}

/// Ends a process group at once.
#[cfg(unix)]
pub(super) fn kill(group: u32) {
    if let Some(group) = group_of(group) {
        // The only failure is a group that is gone.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Without groups a process is left to end by itself.
#[cfg(not(unix))]
pub(super) fn kill(_: u32) {}

#[cfg(unix)]
fn group_of(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
}
