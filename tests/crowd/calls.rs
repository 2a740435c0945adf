//! Processes that begin together, each with its answer and the time it took.

use crate::tally;
use crate::world::{World, executable};
use serde_json::Value;
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A process that has not ended by then hangs: the longest timeout of a hook that runs no checks,
/// several times over.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process to be started.
pub(crate) struct Caller {
    /// What it is, to find its answer again: `stop 7`.
    pub(crate) what: String,
    /// The executable's name.
    pub(crate) name: &'static str,
    command: Command,
    /// What it reads on standard input.
    pub(crate) payload: Vec<u8>,
}

impl Caller {
    /// A hook on an event, as this registration would start it.
    pub(crate) fn hook(
        what: &str,
        world: &World,
        name: &'static str,
        via: &str,
        payload: &Value,
    ) -> Caller {
        let mut command = world.wrapped(&[executable(name)]);
        // The last argument names the registration.
        command.arg(via);
        Caller { what: what.to_owned(), name, command, payload: payload.to_string().into_bytes() }
    }

    /// The command line in another terminal.
    pub(crate) fn terminal(what: &str, world: &World, words: &[&str]) -> Caller {
        let mut command = Command::new(executable("ralph"));
        command.args(words).env_clear().envs(&world.env).current_dir(&world.cwd);
        for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
            command.env_remove(variable);
        }
        Caller { what: what.to_owned(), name: "ralph", command, payload: Vec::new() }
    }

    /// The same, in another session and project.
    pub(crate) fn of(mut self, session: &str, project: &std::path::Path) -> Caller {
        self.command.env("CLAUDE_CODE_SESSION_ID", session);
        self.command.env("CLAUDE_PROJECT_DIR", project).current_dir(project);
        self
    }

    fn start(&mut self) -> Child {
        let pipes =
            self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        pipes.spawn().unwrap_or_else(|error| panic!("could not start `{}`: {error}", self.what))
    }

    fn answer(&self, mut child: Child, began: Instant) -> Answer {
        let mut stdin = child.stdin.take().unwrap();
        // A payload fits into the pipe; a hook with nothing to do exits without reading.
        drop(stdin.write_all(&self.payload));
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Answer::of(self, output, began)
    }
}

/// A process that has ended.
pub(crate) struct Answer {
    pub(crate) what: String,
    pub(crate) name: &'static str,
    pub(crate) payload: Vec<u8>,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

impl Answer {
    fn of(caller: &Caller, output: Output, began: Instant) -> Answer {
        let text = |bytes| String::from_utf8(bytes).expect("it prints text");
        Answer {
            what: caller.what.clone(),
            name: caller.name,
            payload: caller.payload.clone(),
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
            began,
            ended: Instant::now(),
        }
    }

    pub(crate) fn took(&self) -> Duration {
        self.ended - self.began
    }

    pub(crate) fn is(&self, kind: &str) -> bool {
        self.what.split(' ').next() == Some(kind)
    }
}

/// Starts all of them at the same moment and waits for all.
#[track_caller]
pub(crate) fn at_once(callers: Vec<Caller>) -> Vec<Answer> {
    let count = callers.len();
    let answers = in_threads(callers, count, true);
    tally::crowd(count);
    for answer in &answers {
        tally::waited(&answer.what, answer.took());
    }
    answers
}

/// Runs all of them, so many at a time.
#[track_caller]
pub(crate) fn so_many_at_a_time(width: usize, callers: Vec<Caller>) -> Vec<Answer> {
    in_threads(callers, width, false)
}

/// Runs one.
#[track_caller]
pub(crate) fn alone(caller: Caller) -> Answer {
    in_threads(vec![caller], 1, false).remove(0)
}

#[track_caller]
fn in_threads(callers: Vec<Caller>, width: usize, together: bool) -> Vec<Answer> {
    let n_callers = callers.len();
    let width = width.min(n_callers);
    let barrier = Barrier::new(width);
    let queue = std::sync::Mutex::new(callers.into_iter());
    let (sender, receiver) = mpsc::channel();
    let answers: Vec<Answer> = thread::scope(|scope| {
        for _ in 0..width {
            let (sender, queue, barrier) = (sender.clone(), &queue, &barrier);
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(mut caller) = next else { break };
                    if together {
                        barrier.wait();
                    }
                    let began = Instant::now();
                    let child = caller.start();
                    drop(sender.send(Told::Began(child.id(), caller.what.clone())));
                    drop(sender.send(Told::Ended(Box::new(caller.answer(child, began)))));
                }
            });
        }
        drop(sender);
        collect(&receiver)
    });
    assert_eq!(answers.len(), n_callers);
    answers
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Answer { what, name, code, out, err, .. } = self;
        write!(f, "\n  {what} ({name}): {code:?} {:.400} {err:.400}", out)
    }
}

enum Told {
    Began(u32, String),
    Ended(Box<Answer>),
}

/// Takes in the answers; kills what hangs, by its id, and fails.
#[track_caller]
fn collect(receiver: &mpsc::Receiver<Told>) -> Vec<Answer> {
    let mut running: Vec<(u32, String)> = Vec::new();
    let mut answers = Vec::new();
    let mut hung = Vec::new();
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(Told::Began(id, what)) => running.push((id, what)),
            Ok(Told::Ended(answer)) => {
                let place = running.iter().position(|(_, what)| *what == answer.what);
                running.swap_remove(place.expect("it began"));
                answers.push(*answer);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                for (id, what) in &running {
                    hung.push(what.clone());
                    let pid = i32::try_from(*id).ok().and_then(rustix::process::Pid::from_raw);
                    if let Some(pid) = pid {
                        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                    }
                }
            }
        }
    }
    assert_eq!(hung, Vec::<String>::new(), "these did not end within {PATIENCE:?}");
    answers
}
