//! Bash command lines: what they may run, what the guard says of them, and what passes the wall before a plan is
//! agreed to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::guard::{
    self, Caller, DenialRecord, LoopActivity, ProtectedPaths, Ruling, Situation, ToolCall,
};
use ralph_core::protocol::event::ToolInput;
use ralph_core::shell;
use ralph_core::state::Mode;
use ralph_fuzz::quoted;
use std::sync::LazyLock;

static PLACES: LazyLock<ProtectedPaths> = LazyLock::new(|| ProtectedPaths {
    ralph_home: "/home/p/.local/state/ralph".to_owned(),
    config_dirs: vec!["/home/p/.claude".to_owned()],
    user_config: "/home/p/.config/ralph".to_owned(),
    executables: vec!["/home/p/.local/bin".to_owned()],
    plugin_root: Some("/home/p/plugin".to_owned()),
    home: "/home/p".to_owned(),
    sessions: vec!["/home/p/project/.ralph-sessions".to_owned()],
    ..ProtectedPaths::default()
});

fn rule(command: &str) -> Option<guard::Rule> {
    let input = ToolInput { command: Some(command.to_owned()), ..ToolInput::default() };
    let situation = Situation {
        own: ralph_core::guard::own_loop::ModelsOwn::default(),
        mode: &Mode::Plain,
        standing: LoopActivity::Running,
        agent: Caller::Main,
        session_id: "s",
        places: &PLACES,
        ralplan: None,
        session: None,
    };
    let cwd = "/home/p/work";
    let call = ToolCall { tool: "Bash", input: &input, cwd, resolved: None, cut: false };
    let ruling = guard::decide(&situation, &call);
    assert_eq!(ruling, guard::decide(&situation, &call), "decided twice, it is the same");
    match ruling {
        Ruling::Allow => None,
        Ruling::Deny { rule, ref reason } => {
            assert!(!reason.is_empty(), "a refusal says why");
            let record = DenialRecord::of(&situation, &call, rule);
            let kept = serde_json::to_string(&record).expect("a record can be written");
            let read: DenialRecord = serde_json::from_str(&kept).expect("and read");
            assert!(read.decide_again().is_none_or(|again| again == ruling));
            Some(rule)
        }
    }
}

/// Options by which programs that read write a file or start a program.
const WRITING: [&str; 10] = [
    "git log --output=f",
    "git blame --outp f",
    "sort -of",
    "find . -fprint f",
    "less -of",
    "yq -yi .a f",
    "xxd a -b",
    "printf 'x%n' PATH",
    "diff3 --diff-program=x a b c",
    "x=-delete; find \"$x\"",
];

/// What passes the wall has no backtick that hides a command, and no company that makes another line pass.
fn wall(text: &str) {
    let passes = guard::only_reads(text).is_ok();
    assert_eq!(passes, guard::only_reads(text).is_ok(), "decided twice, it is the same");
    if !passes || text.len() > 4096 {
        return;
    }
    for line in WRITING {
        assert!(guard::only_reads(&format!("{line}; {text}")).is_err(), "{line}");
        let escaped = line.replace('\\', "\\\\").replace('`', "\\`");
        assert!(guard::only_reads(&format!("echo `echo \\`{escaped}\\``\n{text}")).is_err());
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    wall(&text);
    let reading = shell::read(&text, &[]);
    let same = shell::read(&text, &[]);
    assert_eq!(format!("{reading:?}"), format!("{same:?}"));
    let Some(refused) = rule(&text) else { return };
    let known = reading.opaque.is_empty() && text.len() < 4096 && !text.contains('\0');
    if known {
        // What is refused alone is refused in company, and inside another shell.
        assert_eq!(rule(&format!("true\n{text}")), Some(refused), "after another command");
        // Bash would take such a text for an option, and run none of it.
        if !text.starts_with(['-', '+']) {
            let inside = format!("bash -c {}", quoted(&text));
            assert_eq!(rule(&inside), Some(refused), "{inside}");
        }
    }
});
