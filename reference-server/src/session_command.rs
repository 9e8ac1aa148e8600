//! `msp-reference-server session`: its arguments, and the server that they make.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgGroup, Args};
use iii_wire::endpoint::{self, Access};
use msp_reference_server::session_functions::{
    Adapter, Endpoint, EngineConfiguration, Server, Settings, Start, stdio, work,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::arguments::data_folder;

/// What the server exits with: it failed while it ran; it could not start.
const UNHANDLED: u8 = 1;
const NOT_STARTED: u8 = 3;

/// Settings of the session functions.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("transport").required(true)), group(ArgGroup::new("place")))]
pub(crate) struct Session {
    /// Serve newline-delimited JSON-RPC on stdin and stdout until stdin ends.
    #[arg(long, group = "transport")]
    stdio: bool,
    /// Listen for iii SDKs as if this were an engine; port 0 takes a free one. The address is told on stderr.
    #[arg(long, group = "transport", value_name = "ADDR")]
    listen: Option<String>,
    /// Work for the iii engine at this address.
    #[arg(long, group = "transport", value_name = "URL")]
    engine: Option<String>,
    /// Keep sessions in the instance behind the engine or endpoint at this address.
    #[arg(long, group = "place", value_name = "URL")]
    bridge: Option<String>,
    /// Keep sessions in this folder, until the configuration names another place [default: the user's data directory].
    #[arg(long, group = "place", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Keep nothing: sessions live in memory until the configuration names another place.
    #[arg(long, group = "place")]
    memory: bool,
    /// Start with the configuration value in this JSON file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Bearer token: asked for from clients, or shown to the engine.
    #[arg(long, value_name = "T", conflicts_with = "stdio")]
    token: Option<String>,
    /// Let web pages of this origin connect, such as `http://localhost:3000`.
    #[arg(long, value_name = "O", requires = "listen")]
    allow_origin: Vec<String>,
    /// Answer to this host name too.
    #[arg(long, value_name = "H", requires = "listen")]
    allow_host: Vec<String>,
}

/// Why the program ends.
struct Ended(u8, String);

impl Session {
    /// Serves until the transport ends.
    #[expect(clippy::print_stderr, reason = "the place for it")]
    pub(crate) fn run(self) -> ExitCode {
        let served = if self.stdio { self.serve_stdio() } else { self.serve_sockets() };
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(Ended(code, message)) => {
                eprintln!("msp-reference-server: {message}");
                ExitCode::from(code)
            }
        }
    }

    fn serve_stdio(&self) -> Result<(), Ended> {
        let server = Server::new(self.start(None)?).map_err(|message| Ended(NOT_STARTED, message))?;
        stdio::serve(&server, std::io::stdin().lock(), std::io::stdout())
            .map_err(|error| Ended(UNHANDLED, error.to_string()))
    }

    fn serve_sockets(self) -> Result<(), Ended> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Ended(NOT_STARTED, error.to_string()))?;
        match self.engine.clone() {
            Some(url) => runtime.block_on(self.work(url)),
            None => runtime.block_on(self.listen()),
        }
    }

    #[expect(clippy::print_stderr, reason = "whoever started it has to learn that it is up")]
    async fn work(self, url: String) -> Result<(), Ended> {
        let token = self.token.clone().or_else(|| std::env::var("III_TOKEN").ok());
        let (engine, shown) = (url.clone(), token.clone());
        let opened = tokio::task::spawn_blocking(move || -> Result<Server, String> {
            let seeded = self.config.is_some() || self.data_dir.is_some() || self.bridge.is_some();
            let start = self.start(Some(engine.clone())).map_err(|Ended(_, message)| message)?;
            let seed = start.stored.fetch().ok().filter(|_| seeded);
            let stored = Arc::new(EngineConfiguration::register(&engine, shown, seed)?);
            Server::new(Start { configurations: None, stored, ..start })
        });
        let server = opened.await.map_err(|error| error.to_string()).and_then(|opened| opened);
        let server = server.map_err(|message| Ended(NOT_STARTED, message))?;
        let link = work(Arc::new(server), &url, token);
        if link.up().await {
            eprintln!("working for {url}");
        }
        std::future::pending().await // until the process is ended
    }

    #[expect(clippy::print_stderr, reason = "whoever started it has to learn the port")]
    async fn listen(self) -> Result<(), Ended> {
        let asked = self.listen.clone().unwrap_or_default();
        let not_started = |error: std::io::Error| Ended(NOT_STARTED, format!("`{asked}`: {error}"));
        let listener = TcpListener::bind(asked.as_str()).await.map_err(not_started)?;
        let local = listener.local_addr().map_err(not_started)?;
        let start = self.start(Some(format!("ws://{local}")))?;
        let opened = tokio::task::spawn_blocking(move || Server::new(start)).await;
        let server = opened
            .map_err(|error| error.to_string())
            .and_then(|opened| opened)
            .map_err(|message| Ended(NOT_STARTED, message))?;
        let access = Access { token: self.token, origins: self.allow_origin, hosts: self.allow_host };
        eprintln!("listening on ws://{local}");
        endpoint::serve(listener, Arc::new(Endpoint::new(Arc::new(server))), access)
            .await
            .map_err(|error| Ended(UNHANDLED, error.to_string()))
    }

    /// What the instance starts with. A place on the command line stands above the one in the seed value.
    fn start(&self, own_url: Option<String>) -> Result<Start, Ended> {
        let data_dir = self.data_dir.clone().or_else(|| data_folder("session-functions"));
        let mut seed = self.seed();
        let adapter = if self.memory { Adapter::Memory } else { Adapter::Fs { data_dir: None } };
        if let Some(seed) = seed.as_object_mut() {
            if self.memory {
                seed.remove("adapter");
            } else if let Some(dir) = &self.data_dir {
                seed.insert("adapter".to_owned(), json!({ "name": "fs", "config": { "data_dir": dir } }));
            } else if let Some(url) = &self.bridge {
                seed.insert("adapter".to_owned(), json!({ "name": "bridge", "config": { "url": url } }));
            }
        }
        if !self.memory && data_dir.is_none() {
            return Err(Ended(NOT_STARTED, "no home directory: give `--data-dir` or `--memory`".to_owned()));
        }
        Ok(Start { own_url, data_dir, hold: self.memory, ..Start::embedded(adapter, seed) })
    }

    /// The seed value: what is in the file, as far as it can be read (SF-CFG-3).
    #[expect(clippy::print_stderr, reason = "a seed that is passed over is told")]
    fn seed(&self) -> Value {
        let Some(path) = &self.config else { return json!({}) };
        let read = || -> Result<Value, String> {
            let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
            let value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            Settings::read(&value).map(|_| value)
        };
        read().unwrap_or_else(|error| {
            eprintln!("msp-reference-server: seed `{}` is passed over: {error}", path.display());
            json!({})
        })
    }
}
