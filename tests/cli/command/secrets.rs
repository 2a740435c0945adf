//! The client's secrets are out of reach, and no value of a secret is stored.

use super::world::World;

fn world() -> World {
    World::new()
        .variable("ANTHROPIC_API_KEY", "sk-ant-dummy-1")
        .variable("CLAUDE_CODE_OAUTH_TOKEN", "oauth-dummy-2")
        .variable("CLAUDE_CODE_MESSAGING_SOCKET", "/tmp/dummy-3.sock")
        .variable("CLAUDE_CODE_SESSION_ID", "session-4")
        .variable("GITHUB_TOKEN", "ghp_dummy_5")
        .variable("SHORT_KEY", "abc")
}

#[test]
fn neither_the_environment_nor_that_of_its_parent_holds_the_clients_secrets() {
    let world = world();
    let look = "env; tr '\\0' '\\n' </proc/$PPID/environ; tr '\\0' ' ' </proc/$PPID/cmdline";
    // Told as numbers: what is redacted would look as if it had never been there.
    let answer = world.run(&format!("{{ {look}; }} | od -An -v -tx1"));
    let bytes: Vec<u8> = answer_bytes(&world.output());
    let seen = String::from_utf8(bytes).unwrap();
    answer.ended("Exited(0)");
    for absent in ["ANTHROPIC_", "OAUTH", "MESSAGING", "dummy-1", "dummy-2", "dummy-3"] {
        assert!(!seen.contains(absent), "{absent} in {seen}");
    }
    for present in ["CLAUDE_CODE_SESSION_ID=session-4", "GITHUB_TOKEN=ghp_dummy_5"] {
        assert_eq!(seen.matches(present).count(), 2, "{present} in {seen}");
    }
}

fn answer_bytes(dump: &[u8]) -> Vec<u8> {
    let dump = std::str::from_utf8(dump).unwrap();
    dump.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn values_are_redacted_from_what_is_stored_and_told() {
    let world = world();
    let command = "echo a $GITHUB_TOKEN b; echo sk-ant-dummy-1 $SHORT_KEY $CLAUDE_CODE_SESSION_ID";
    let expected = "a [redacted GITHUB_TOKEN] b\n[redacted ANTHROPIC_API_KEY] abc session-4";
    world.run(command).tail(expected);
    assert_eq!(world.output(), format!("{expected}\n").as_bytes());
}

#[test]
fn a_value_that_is_written_in_two_pieces_is_redacted() {
    let world = world();
    world.run("printf ghp_; sleep 0.2; printf dummy_; sleep 0.2; printf '5;'");
    assert_eq!(world.output(), b"[redacted GITHUB_TOKEN];");
}

/// Wherever our reads of the pipe happen to end: 200,000 values at every place of a piece.
#[test]
fn no_value_slips_through_between_two_reads() {
    let world = world();
    world.run("yes \"$GITHUB_TOKEN\" | head -n 200000 | tr -d '\\n'");
    assert_eq!(world.output(), "[redacted GITHUB_TOKEN]".repeat(200_000).as_bytes());
}
