//! Command lines: splitting one ends, and a line that is refused in a loop is refused in company.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::guard::{
    self, Caller, DenialRecord, LoopActivity, ProtectedPaths, Ruling, Situation, ToolCall,
};
use ralph_core::protocol::event::ToolInput;
use ralph_core::shell;
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

fn is_refused(command: &str) -> bool {
    let input = ToolInput { command: Some(command.to_owned()), ..ToolInput::default() };
    let situation = Situation {
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
    let Ruling::Deny { rule, ref reason } = ruling else { return false };
    assert!(!reason.is_empty(), "a refusal says why");
    let record = DenialRecord::new(&situation, &call, rule);
    let kept = serde_json::to_string(&record).expect("a record can be written");
    let read: DenialRecord = serde_json::from_str(&kept).expect("and read");
    assert!(read.decide_again().is_none_or(|again| again == ruling));
    true
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let list = shell::read(&text);
    assert_eq!(list, shell::read(&text));
    if is_refused(&text) {
        assert!(is_refused(&format!("true\n{text}")), "after another command");
    }
});
