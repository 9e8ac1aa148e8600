//! The file layer: the only code that touches the disk. It counts what is read, and tests put one in its place that loses power.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the log needs of a disk. Paths are absolute or relative as the store made them.
pub trait Layer: Send + Sync + std::fmt::Debug {
    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// Of the disk, as for all methods here.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Names in a folder, sorted; empty where there is no folder.
    ///
    /// # Errors
    /// Of the disk.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Bytes of a file; `None` where there is none.
    ///
    /// # Errors
    /// Of the disk.
    fn length(&self, path: &Path) -> io::Result<Option<u64>>;
    /// At most `length` bytes from `offset` on; fewer at the end.
    ///
    /// # Errors
    /// Of the disk.
    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>>;
    /// Writes behind the end, making the file where it is missing.
    ///
    /// # Errors
    /// Of the disk.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Returns once everything appended is on the disk.
    ///
    /// # Errors
    /// Of the disk.
    fn sync(&self, path: &Path) -> io::Result<()>;
    /// Cuts a file.
    ///
    /// # Errors
    /// Of the disk.
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Puts a whole new content in a file's place, or leaves the old one; on the disk when it returns.
    ///
    /// # Errors
    /// Of the disk.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Lets go of what it keeps open for a file that is not written any more.
    fn close(&self, path: &Path) {
        let _ = path;
    }
    /// Takes the lock of a file that ends with the process; `None` when another process has it.
    ///
    /// # Errors
    /// Of the disk.
    fn lease(&self, path: &Path) -> io::Result<Option<Lease>>;
    /// Bytes read since the start.
    fn bytes_read(&self) -> u64;
    /// A number that changes whenever somebody changes the file; `None` where the disk has none.
    ///
    /// # Errors
    /// Of the disk.
    fn stamp(&self, path: &Path) -> io::Result<Option<u64>> {
        let _ = path;
        Ok(None)
    }
}

/// A held lock; dropping it lets it go.
#[derive(Debug)]
pub struct Lease(#[expect(dead_code, reason = "the lock lives as long as the file is open")] Option<File>);

/// The real disk.
#[derive(Debug, Default)]
pub struct Disk {
    /// Files open for appending: one log each, and whether the folder is known to have it after a loss of power.
    open: Mutex<BTreeMap<PathBuf, Appended>>,
    read: AtomicU64,
}

#[derive(Clone, Debug)]
struct Appended {
    file: Arc<File>,
    entered: bool,
}

/// Syncs a folder, so that names in it outlive a loss of power. Only Unix has a way to ask for that.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

impl Disk {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Appended>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Layer for Disk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            self.create_dir(above)?;
            fs::create_dir_all(path)?;
            return sync_folder(above);
        }
        fs::create_dir_all(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let mut names = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(u64::try_from(length).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
        self.read.fetch_add(u64::try_from(bytes.len()).unwrap_or(0), Ordering::Relaxed);
        Ok(bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let appended = match self.files().get(path) {
            Some(appended) => Arc::clone(&appended.file),
            None => Arc::new(OpenOptions::new().append(true).create(true).open(path)?),
        };
        (&*appended).write_all(bytes)?;
        self.files().entry(path.to_owned()).or_insert(Appended { file: appended, entered: false });
        Ok(())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        // Not under the lock: logs of different sessions are synced side by side.
        let Some(appended) = self.files().get(path).cloned() else { return Ok(()) };
        appended.file.sync_data()?;
        if let Some(folder) = path.parent().filter(|_| !appended.entered) {
            sync_folder(folder)?;
            if let Some(appended) = self.files().get_mut(path) {
                appended.entered = true;
            }
        }
        Ok(())
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        self.close(path);
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.sync_data()
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.close(path);
        let beside = path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&beside, path)?;
        path.parent().map_or(Ok(()), sync_folder)
    }

    fn close(&self, path: &Path) {
        self.files().remove(path);
    }

    fn lease(&self, path: &Path) -> io::Result<Option<Lease>> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lease(Some(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<u64>> {
        let modified = fs::metadata(path)?.modified()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ok(u64::try_from(since.as_nanos()).ok())
    }
}

/// A disk in memory: the ephemeral profile, and tests. What was not synced is known, so that a test can take it away.
#[derive(Debug, Default)]
pub struct Memory {
    files: Mutex<BTreeMap<PathBuf, MemoryFile>>,
    read: AtomicU64,
}

#[derive(Debug, Default)]
struct MemoryFile {
    bytes: Vec<u8>,
    synced: usize,
    changes: u64,
}

impl Memory {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, MemoryFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes away of every file all but `kept` bytes of what was not synced, as a loss of power may.
    pub fn lose_power(&self, kept: usize) {
        for file in self.files().values_mut() {
            let length = file.bytes.len().min(file.synced + kept);
            file.bytes.truncate(length);
        }
    }
}

impl Layer for Memory {
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names: Vec<_> = self
            .files()
            .keys()
            .filter_map(|file| Some(file.strip_prefix(path).ok()?.iter().next()?.to_string_lossy().into_owned()))
            .collect();
        names.dedup();
        Ok(names)
    }

    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        Ok(self.files().get(path).map(|file| u64::try_from(file.bytes.len()).unwrap_or(u64::MAX)))
    }

    fn read(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let files = self.files();
        let bytes = &files.get(path).ok_or(io::ErrorKind::NotFound)?.bytes;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let part = bytes[start..start.saturating_add(length).min(bytes.len())].to_vec();
        self.read.fetch_add(u64::try_from(part.len()).unwrap_or(0), Ordering::Relaxed);
        Ok(part)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files();
        let file = files.entry(path.to_owned()).or_default();
        file.bytes.extend_from_slice(bytes);
        file.changes += 1;
        Ok(())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        if let Some(file) = self.files().get_mut(path) {
            file.synced = file.bytes.len();
        }
        Ok(())
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        if let Some(file) = self.files().get_mut(path) {
            file.bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
            file.synced = file.bytes.len();
        }
        Ok(())
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files();
        let changes = files.get(path).map_or(0, |file| file.changes + 1);
        files.insert(path.to_owned(), MemoryFile { bytes: bytes.to_vec(), synced: bytes.len(), changes });
        Ok(())
    }

    fn lease(&self, _path: &Path) -> io::Result<Option<Lease>> {
        Ok(Some(Lease(None))) // one process, which knows what it has loaded
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<u64>> {
        Ok(self.files().get(path).map(|file| file.changes))
    }

    fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}
