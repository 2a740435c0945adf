//! `ralph.toml`, read from the project's folder as a loop's start reads it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::project::settings::Settings;
use ralph_core::state::LoopState;
use ralph_fuzz::{folder, write};
use ralph_io::project::settings;
use ralph_io::store::home::Home;
use std::sync::LazyLock;

static HOME: LazyLock<Home> = LazyLock::new(|| {
    // The person's own file is looked for where the environment says: nowhere.
    std::fs::create_dir_all(folder().join(".claude")).expect("a temporary folder");
    Home::at(folder().join("home"))
});

fuzz_target!(|text: &[u8]| {
    let home = &*HOME;
    write(&settings::project_file(folder()), text);
    let (read, problems) = settings::read(home, folder());
    assert!(
        problems.is_empty() || read == Settings::default(),
        "a file counts whole or not at all"
    );
    assert!(problems.iter().all(|problem| problem.ends_with("; Ralph ignored it")));
    // Nobody has trusted the file.
    assert!(read.completion.is_none() && read.receipt_ignore.is_none());
    let mode = read.client().permission_mode.unwrap_or_default();
    assert!(["", "default", "manual", "plan", "dontAsk"].contains(&mode.as_str()), "{mode}");
    assert_eq!(read.clone().over(Settings::default()), read);
    assert_eq!(Settings::default().over(read.clone()), read);
    let mut state = LoopState::default();
    read.apply(&mut state);
    assert_eq!(Settings::from_state(&state), read, "frozen as it was read");
    let written = serde_json::to_string(&state).expect("a state can be written");
    let state: LoopState = serde_json::from_str(&written).expect("and read");
    assert_eq!(Settings::from_state(&state), read);
    assert!((1..=570).contains(&read.to_settle().as_secs()));
    assert!((1..=86_400).contains(&read.per_command().as_secs()));
    assert!((1..=10_000).contains(&state.max_iterations), "no file says what no flag may");
    assert!((1..=100_000).contains(&state.limits.max_minutes));
    assert!((1..=1_000).contains(&state.stall_limit));
});
