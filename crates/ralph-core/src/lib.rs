//! The rules of Ralph: what may run, what may end, and why.
//!
//! Nothing in this crate opens a file, reads the clock or the environment, or starts a process;
//! rules get what they need as arguments. `clippy.toml` beside this crate enforces that.
//!
//! The folders, lowest layer first. Each imports only from those above it in this table; a test
//! checks the imports.
//!
//! | folder | holds |
//! |---|---|
//! | [`text`] | shortening, counting, cleaning and matching text |
//! | [`shell`] | which commands a Bash command line runs |
//! | [`protocol`] | hook events and replies, registrations, permission rules |
//! | [`state`] | the state file of a loop, with the causes of pauses and endings |
//! | [`transcript`] | what Claude Code writes: transcript rows, tokens, the headless stream |
//! | [`evidence`] | receipts, the criteria that the user agreed to, test counts |
//! | [`tasks`] | the task graph, plans, `bd`, a loop that machines share |
//! | [`guard`] | whether a tool may run now, and who is asking |
//! | [`stop`] | whether a finished turn may end the loop; replay of that decision |
//! | [`modes`] | what each kind of loop does differently |
//! | [`project`] | criteria, facts and checks found in a project's files; the settings |
//! | [`views`] | messages, the status line, the report |

pub mod evidence;
pub mod guard;
pub mod modes;
pub mod project;
pub mod protocol;
pub mod shell;
pub mod state;
pub mod stop;
pub mod tasks;
pub mod text;
pub mod transcript;
pub mod views;
