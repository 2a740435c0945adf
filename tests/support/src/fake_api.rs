//! A scripted stand-in for the Messages API on loopback, so that the real client
//! runs without a model.
//!
//! The client requests more than its conversation: titles, suggestions, summaries, probes. These
//! are recognised by [`RequestKind`] and answered harmlessly; only the conversation and its
//! subagents consume a script.

mod gate;
mod http;
mod reply;
mod request;
mod script;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

pub use gate::Gate;
pub use request::{ApiRequest, RequestKind, ToolResult};
pub use script::{ContentBlock, Script, ScriptedTurn, Usage};

/// The API key for the client: it looks like a real one and opens nothing.
pub const DUMMY_API_KEY: &str = "sk-ant-ralph-stand-in-0000000000000000000000";

/// A running stand-in. Dropping it stops listening and releases every held reply.
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl StandIn {
    /// Listens on a free loopback port and answers from `script`, each request in its own thread.
    pub fn start(script: Script) -> Result<StandIn> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .context("could not listen on loopback for the stand-in of the Messages API")?;
        let address = listener.local_addr().context("could not read the stand-in's own address")?;
        let shared = Arc::new(Shared::new(script));
        let for_thread = Arc::clone(&shared);
        thread::Builder::new()
            .name("stand-in".to_owned())
            .spawn(move || accept(&listener, &for_thread))
            .context("could not start the stand-in's thread")?;
        Ok(StandIn { address, shared })
    }

    /// The value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, side requests included, in the order of arrival.
    pub fn all_requests(&self) -> Vec<ApiRequest> {
        self.shared.lock().requests.clone()
    }

    /// The requests of the main conversation, in the order of arrival.
    pub fn requests(&self) -> Vec<ApiRequest> {
        self.requests_where(|kind| *kind == RequestKind::Main)
    }

    /// The requests of subagents, in the order of arrival.
    pub fn subagent_requests(&self) -> Vec<ApiRequest> {
        self.requests_where(|kind| matches!(kind, RequestKind::Subagent(_)))
    }

    /// How many requests found no turn left in the script. Their answer was a plain text saying so.
    pub fn unscripted(&self) -> usize {
        self.shared.lock().n_unscripted
    }

    /// Waits until the main conversation has made `n` requests, and returns them.
    pub fn wait_for_requests(&self, n: usize, patience: Duration) -> Result<Vec<ApiRequest>> {
        let deadline = Instant::now() + patience;
        let mut talk = self.shared.lock();
        loop {
            let seen: Vec<_> =
                talk.requests.iter().filter(|request| request.kind == RequestKind::Main).collect();
            if seen.len() >= n {
                return Ok(seen.into_iter().cloned().collect());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("could not see {n} requests within {patience:?}: there were {}", seen.len());
            }
            talk = self
                .shared
                .arrived
                .wait_timeout(talk, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn requests_where(&self, wanted: impl Fn(&RequestKind) -> bool) -> Vec<ApiRequest> {
        self.shared
            .lock()
            .requests
            .iter()
            .filter(|request| wanted(&request.kind))
            .cloned()
            .collect()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for gate in &self.shared.lock().gates {
            gate.open();
        }
        // The accepting thread sleeps in `accept`; one more connection makes it check the flag.
        drop(TcpStream::connect(self.address));
    }
}

struct Shared {
    talk: Mutex<Talk>,
    arrived: Condvar,
    stopping: AtomicBool,
}

/// The recorded requests, and the rest of the script.
struct Talk {
    script: Script,
    /// The script of each subagent, by its id: later requests need not repeat the marker.
    roles: HashMap<String, usize>,
    requests: Vec<ApiRequest>,
    gates: Vec<Gate>,
    n_unscripted: usize,
}

impl Shared {
    fn new(script: Script) -> Shared {
        let talk = Talk {
            script,
            roles: HashMap::new(),
            requests: Vec::new(),
            gates: Vec::new(),
            n_unscripted: 0,
        };
        Shared { talk: Mutex::new(talk), arrived: Condvar::new(), stopping: AtomicBool::new(false) }
    }

    /// A thread that panicked while it held the lock has left complete values behind,
    /// so continue with them.
    fn lock(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the request and takes its answer from the script, under one lock.
    fn take_turn(&self, request: ApiRequest) -> ScriptedTurn {
        let mut talk = self.lock();
        let turn = talk.turn_for(&request);
        talk.gates.extend(turn.gates().cloned());
        talk.requests.push(request);
        drop(talk);
        self.arrived.notify_all();
        turn
    }
}

impl Talk {
    fn turn_for(&mut self, request: &ApiRequest) -> ScriptedTurn {
        let scripted = match &request.kind {
            RequestKind::Main => self.script.next_turn(request),
            RequestKind::Subagent(id) => match self.role_of(id, request) {
                Some(role) => self.script.subagents[role].1.next_turn(request),
                None => None,
            },
            RequestKind::Summary => {
                return ScriptedTurn::text("<summary>The work so far, in short.</summary>");
            }
            RequestKind::Side => return ScriptedTurn::text("{\"title\": \"A scripted session\"}"),
            RequestKind::Other => {
                return ScriptedTurn::error(
                    404,
                    "not_found_error",
                    "the stand-in serves messages only",
                );
            }
        };
        scripted.unwrap_or_else(|| {
            self.n_unscripted += 1;
            ScriptedTurn::text("The script has no more turns.")
        })
    }

    fn role_of(&mut self, agent_id: &str, request: &ApiRequest) -> Option<usize> {
        if let Some(role) = self.roles.get(agent_id) {
            return Some(*role);
        }
        let task = request.first_user_text();
        let role = self.script.subagents.iter().position(|(marker, _)| task.contains(marker))?;
        self.roles.insert(agent_id.to_owned(), role);
        Some(role)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(connection) = connection else { continue };
        let shared = Arc::clone(shared);
        // Ignore a broken connection: the client has gone, or was told to stop.
        thread::spawn(move || drop(serve(connection, &shared)));
    }
}

/// Serves one request per connection. The answer ends by closing it, so a stream
/// needs no chunked coding.
fn serve(mut connection: TcpStream, shared: &Shared) -> Result<()> {
    let call = http::read_call(&mut connection)?;
    if call.method != "POST" {
        return http::write_json(
            &mut connection,
            200,
            &serde_json::json!({}),
            call.method != "HEAD",
        );
    }
    if call.path.contains("count_tokens") {
        return http::write_json(
            &mut connection,
            200,
            &serde_json::json!({"input_tokens": 100}),
            true,
        );
    }
    let request = ApiRequest::from_call(call)?;
    let streams = request.streams();
    let model = request.model().to_owned();
    let turn = shared.take_turn(request);
    match streams {
        true => reply::stream(&mut connection, &turn, &model),
        false => reply::whole(&mut connection, &turn, &model),
    }
}

#[cfg(test)]
mod tests;
