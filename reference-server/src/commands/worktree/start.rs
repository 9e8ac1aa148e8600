//! The worktree that a session is started in. A new one is made by the program `git`, without a branch of its own, in a folder beside
//! the main checkout: `<main checkout>.worktrees/<session id>`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use msp_types::msp::WorktreeStartRequest;
use serde_json::{Value, json};

use super::worktrees;
use crate::host::Host;
use crate::refusal::Refusal;

/// A worktree that a start asks for, looked at and not made yet.
#[derive(Clone, Debug)]
pub enum Choice {
    /// One that is there.
    Attached(PathBuf),
    /// A new one of the repository with this main checkout, from this revision.
    Created(PathBuf, String),
}

impl Choice {
    /// Looks at what is asked for; `workspace_root` is where a new one begins.
    ///
    /// # Errors
    /// −32602 for a path that is no worktree, −32029 for a repository that is not trusted.
    pub fn read(host: &Host, asked: &WorktreeStartRequest, workspace_root: Option<&str>) -> Result<Self, Refusal> {
        match asked {
            WorktreeStartRequest::Create(create) => {
                let root = workspace_root
                    .ok_or_else(|| Refusal::invalid_params("`worktree` of mode `create` needs a `workspaceRoot`"))?;
                let main = worktrees(host, root, "workspaceRoot")?.swap_remove(0).0;
                Ok(Self::Created(main, create.base_ref.clone().unwrap_or_else(|| "HEAD".to_owned())))
            }
            WorktreeStartRequest::Existing(existing) => {
                let all = worktrees(host, &existing.path, "worktree.path")?;
                let path = Path::new(&existing.path).canonicalize().ok();
                let found = all.into_iter().map(|(known, _)| known).find(|known| path.as_ref() == Some(known));
                let missing = || Refusal::invalid_params("`worktree.path` is no worktree, but lies in one");
                Ok(Self::Attached(found.ok_or_else(missing)?))
            }
            _ => Err(Refusal::invalid_params("no such `worktree.mode`")), // one of a schema to come
        }
    }

    /// Makes it where it is not there yet: the folder, and the `worktree` of the session.
    ///
    /// # Errors
    /// −32602 with what git says.
    pub fn make(self, session_id: &str) -> Result<(String, Value), Refusal> {
        let (path, origin) = match self {
            Self::Attached(path) => (path, "attached"),
            Self::Created(main, base) => (create(&main, &base, session_id)?, "created"),
        };
        let path = path.display().to_string();
        let worktree = json!({ "path": path, "origin": origin });
        Ok((path, worktree))
    }
}

fn create(main: &Path, base: &str, session_id: &str) -> Result<PathBuf, Refusal> {
    let mut folder = main.as_os_str().to_owned();
    folder.push(".worktrees");
    let path = PathBuf::from(folder).join(session_id);
    let refused = |why: &str| Refusal::invalid_params(format!("`worktree`: git made none: {}", why.trim()));
    if base.starts_with('-') {
        return Err(Refusal::invalid_params("`worktree.baseRef` is no revision"));
    }
    let mut git = Command::new("git");
    for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(inherited); // of a git that started this host
    }
    git.arg("-C").arg(main).args(["worktree", "add", "--quiet", "--detach"]).arg(&path).arg(base);
    let output = git.stdin(Stdio::null()).output().map_err(|error| refused(&error.to_string()))?;
    if !output.status.success() {
        return Err(refused(&String::from_utf8_lossy(&output.stderr)));
    }
    path.canonicalize().map_err(|error| refused(&error.to_string()))
}
