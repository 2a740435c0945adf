//! A second client, which shares nothing with Claude Code: another name, other flags, and lines of words
//! in place of JSON. It implements the trait, and nothing else that runs rounds is told of it.

use super::round;
use super::world::World;
use anyhow::{Context, Result};
use ralph::runs::client::{Client, ClientCommand, ClientRound};
use ralph_core::state::Tokens;
use ralph_core::transcript::stream::{Model, Reason, StreamEvent, TurnResult};
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug)]
struct Parrot;

impl Client for Parrot {
    fn program(&self) -> Result<PathBuf> {
        std::env::var_os("PARROT").map(PathBuf::from).context("the parrot is missing")
    }

    fn command(&self, round: &ClientRound) -> Result<ClientCommand> {
        let chat = round.resume.as_ref().map(|chat| format!("chat={chat}"));
        let model = round.model.as_ref().map(|model| format!("model={model}"));
        let words = chat.into_iter().chain(model).map(OsString::from);
        let args = words.chain(round.extra_args.clone()).chain([round.prompt.clone().into()]);
        Ok(ClientCommand {
            args: args.collect(),
            env: &[("PARROT_SPEAKS", "plainly")],
            unset: &["PARROT"],
        })
    }

    fn read(&self, line: &[u8]) -> Option<StreamEvent> {
        let (word, rest) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let rest = rest.to_owned();
        let ended = |is_error: bool, reason: Reason| {
            let tokens = Tokens { output: 7, ..Tokens::default() };
            let result = rest.clone();
            StreamEvent::Ended(Box::new(TurnResult {
                result,
                is_error,
                reason,
                tokens,
                ..TurnResult::default()
            }))
        };
        Some(match word {
            "chat" => StreamEvent::Began {
                session_id: rest,
                permission_mode: String::new(),
                plugins: Default::default(),
            },
            "does" => StreamEvent::Model(Model {
                tools: vec![("Perch".to_owned(), rest)],
                ..Model::default()
            }),
            "tired" => ended(true, Reason::Overloaded),
            "says" => ended(false, Reason::Own),
            _ => StreamEvent::Other,
        })
    }

    fn readable(&self, line: &[u8]) -> Vec<String> {
        vec![String::from_utf8_lossy(line).into_owned()]
    }
}

#[test]
fn in_a_process_of_its_own() {
    round::carried_out_by(&Parrot);
}

#[test]
fn a_second_client_is_one_implementation_and_is_limited_retried_and_cleaned_up_after_like_the_first()
 {
    let script = "echo \"env $PARROT $PARROT_SPEAKS\" >>env; say 'chat 42'; say 'does a swing'
        if [ $n = 1 ]; then say 'tired of it'; exit 1; fi
        say 'says hello'; sleep 300";
    let world = World::new(script);
    let mut order = world.order().with("args", json!(["loudly"]));
    order.env.retain(|(name, _)| name != "RALPH_CLAUDE");
    order.env.push(("PARROT".into(), world.path("claude").into()));
    order.args[1] = "driver::other_client::in_a_process_of_its_own";
    let answer = world.run(&order);
    assert_eq!(
        answer.came["outcome"],
        json!({"finished": "hello", "is_error": false}),
        "{answer:?}"
    );
    assert_eq!((&answer.came["session_id"], &answer.came["tokens"]), (&json!("42"), &json!(7)));
    assert_eq!(answer.came["leftovers"], json!(["sleep"]));
    assert_eq!(world.args(0), "loudly|Work.|");
    let go_on = "chat=42|loudly|The connection to the model was lost. Go on where you were.|";
    assert_eq!(world.args(1), go_on);
    let env = std::fs::read_to_string(world.path("env")).unwrap();
    assert_eq!(env, "env  plainly\n".repeat(2));
    assert!(answer.shown.contains("Perch a swing"), "{}", answer.shown);
    assert!(answer.shown.contains("the API is overloaded"), "{}", answer.shown);
}
