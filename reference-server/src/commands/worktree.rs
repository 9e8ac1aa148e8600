//! Worktrees: `worktree/list`, and the `worktree` of `session/start` (experimental).
//!
//! The list is read from the files of git, without its program: linked worktrees come by path. A path in no repository is refused as −32602
//! (no source says how). Repositories count as trusted when the host was started so.

mod start;

use std::fs;
use std::path::{Path, PathBuf};

use msp_types::msp::methods::WorktreeList;
use msp_types::msp::{WorktreeListEntry, WorktreeListParams, WorktreeListResult, errors};

pub use self::start::Choice;
use super::{HostCall, HostMethod, Method, Reply, method};
use crate::host::Host;
use crate::refusal::Refusal;

/// What this family has.
pub const METHODS: &[Method] = &[method::<WorktreeList>()];

impl HostMethod for WorktreeList {
    fn serve(params: WorktreeListParams, call: &HostCall<'_>) -> Result<Reply<WorktreeListResult>, Refusal> {
        let found = worktrees(call.host, &params.workspace_root, "workspaceRoot")?;
        let roots = roots(call);
        let paths: Vec<_> = found.iter().map(|(path, _)| path.clone()).collect();
        let entry = |(at, (path, git)): (usize, &(PathBuf, PathBuf))| {
            let sessions = roots.iter().filter(|(_, root)| innermost(&paths, root) == Some(path));
            let ids = sessions.map(|(id, _)| id.clone()).collect();
            let mut entry = WorktreeListEntry::new(at == 0, path.display().to_string(), ids);
            entry.branch = branch(git);
            entry
        };
        Ok(Reply::Result(WorktreeListResult::new(found.iter().enumerate().map(entry).collect())))
    }
}

/// All worktrees of the repository around a path, each with its git folder: the main one first. `member` is where the path came from.
///
/// # Errors
/// −32602 for a path in no repository, −32029 for a repository that is not trusted.
fn worktrees(host: &Host, path: &str, member: &str) -> Result<Vec<(PathBuf, PathBuf)>, Refusal> {
    let git = Path::new(path).canonicalize().ok().and_then(|path| repository(&path));
    let git = git.ok_or_else(|| Refusal::invalid_params(format!("`{member}` lies in no repository")))?;
    let main = git.parent().unwrap_or(&git).to_owned();
    if !host.config.trust_workspace {
        let message = "the repository is not trusted";
        let refusal = Refusal::new(errors::WORKSPACE_NOT_TRUSTED, message).with("retryable", false);
        return Err(refusal.with("path", main.display().to_string()));
    }
    let linked = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    let mut linked: Vec<_> = linked.filter_map(|entry| linked_worktree(&entry.path())).collect();
    linked.sort();
    linked.insert(0, (main, git));
    Ok(linked)
}

/// The common git folder of the repository around a path.
fn repository(path: &Path) -> Option<PathBuf> {
    let dot_git = path.ancestors().map(|folder| folder.join(".git")).find(|dot_git| dot_git.exists())?;
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let folder = dot_git.parent()?;
    let git = folder.join(fs::read_to_string(&dot_git).ok()?.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git.join("commondir")).ok()?;
    git.join(common.trim()).canonicalize().ok()
}

/// Path and git folder of a linked worktree; `None` for one that is gone.
fn linked_worktree(git: &Path) -> Option<(PathBuf, PathBuf)> {
    let dot_git = fs::read_to_string(git.join("gitdir")).ok()?;
    let path = git.join(dot_git.trim()).parent()?.canonicalize().ok()?;
    Some((path, git.to_owned()))
}

/// The branch that is checked out; `None` for a detached head.
fn branch(git: &Path) -> Option<String> {
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// Ids and canonical workspaces of the sessions that are loaded.
fn roots(call: &HostCall<'_>) -> Vec<(String, PathBuf)> {
    let root = |session: &std::sync::Arc<crate::session::Loaded>| {
        let root = session.core().state.header.workspace_root.clone()?;
        Some((session.id.clone(), Path::new(&root).canonicalize().ok()?))
    };
    call.host.sessions().iter().filter_map(root).collect()
}

/// The worktree that a path lies in: worktrees may lie in one another.
fn innermost<'a>(worktrees: &'a [PathBuf], path: &Path) -> Option<&'a PathBuf> {
    worktrees.iter().filter(|worktree| path.starts_with(worktree)).max_by_key(|worktree| worktree.components().count())
}
