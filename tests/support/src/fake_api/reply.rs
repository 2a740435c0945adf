//! Writes one turn in the API's own formats: server-sent events for a
//! stream, one document otherwise.
//!
//! Everything before a held block is sent first, so that a test can
//! interrupt a half-finished answer.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::http;
use super::script::{ContentBlock, Says, ScriptedTurn};

/// Ids are unique in the process, since the client tells messages and tool calls apart by them.
static N_IDS: AtomicU64 = AtomicU64::new(1);

pub(super) fn stream(to: &mut impl Write, turn: &ScriptedTurn, model: &str) -> Result<()> {
    let blocks = match &turn.says {
        Says::Error { status, headers, body } => {
            return http::write_error(to, *status, headers, body);
        }
        Says::Content(blocks) => blocks,
    };
    let first_words = blocks
        .iter()
        .position(|block| !matches!(block, ContentBlock::Hold(_)))
        .unwrap_or(blocks.len());
    pass_gates(&blocks[..first_words]);
    http::write_head(to, 200, "text/event-stream", None)?;
    event(
        to,
        &json!({"type": "message_start", "message": message(turn, model, json!([]), Value::Null)}),
    )?;
    let mut index = 0;
    for block in &blocks[first_words..] {
        if let Some((start, delta)) = block_events(block) {
            event(
                to,
                &json!({"type": "content_block_start", "index": index, "content_block": start}),
            )?;
            event(to, &json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
            event(to, &json!({"type": "content_block_stop", "index": index}))?;
            index += 1;
        } else {
            pass_gates(std::slice::from_ref(block));
        }
    }
    let delta = json!({"stop_reason": stop_reason(blocks), "stop_sequence": null});
    event(to, &json!({"type": "message_delta", "delta": delta, "usage": usage(turn)}))?;
    event(to, &json!({"type": "message_stop"}))
}

pub(super) fn whole(to: &mut impl Write, turn: &ScriptedTurn, model: &str) -> Result<()> {
    let blocks = match &turn.says {
        Says::Error { status, headers, body } => {
            return http::write_error(to, *status, headers, body);
        }
        Says::Content(blocks) => blocks,
    };
    pass_gates(blocks);
    let content: Vec<Value> = blocks.iter().filter_map(whole_block).collect();
    http::write_json(
        to,
        200,
        &message(turn, model, json!(content), json!(stop_reason(blocks))),
        true,
    )
}

fn pass_gates(blocks: &[ContentBlock]) {
    for block in blocks {
        if let ContentBlock::Hold(gate) = block {
            gate.pass();
        }
    }
}

fn event(to: &mut impl Write, data: &Value) -> Result<()> {
    let name = data["type"].as_str().unwrap_or_default();
    write!(to, "event: {name}\ndata: {data}\n\n").context("could not send an event")?;
    to.flush().context("could not send an event")
}

fn message(turn: &ScriptedTurn, model: &str, content: Value, stop_reason: Value) -> Value {
    json!({
        "id": fresh_id("msg"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": usage(turn),
    })
}

fn usage(turn: &ScriptedTurn) -> Value {
    json!({
        "input_tokens": turn.usage.input_tokens, "output_tokens": turn.usage.output_tokens,
        "cache_read_input_tokens": turn.usage.cache_read_input_tokens, "cache_creation_input_tokens": 0,
    })
}

fn stop_reason(blocks: &[ContentBlock]) -> &'static str {
    let calls_a_tool = blocks.iter().any(|block| matches!(block, ContentBlock::ToolUse { .. }));
    if calls_a_tool { "tool_use" } else { "end_turn" }
}

/// The start of a block, and the one delta that fills it.
fn block_events(block: &ContentBlock) -> Option<(Value, Value)> {
    match block {
        ContentBlock::Hold(_) => None,
        ContentBlock::Text(text) => {
            Some((json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text})))
        }
        ContentBlock::ToolUse { name, input } => Some((
            json!({"type": "tool_use", "id": fresh_id("toolu"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
        )),
    }
}

fn whole_block(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Hold(_) => None,
        ContentBlock::Text(text) => Some(json!({"type": "text", "text": text})),
        ContentBlock::ToolUse { name, input } => {
            Some(json!({"type": "tool_use", "id": fresh_id("toolu"), "name": name, "input": input}))
        }
    }
}

fn fresh_id(prefix: &str) -> String {
    format!("{prefix}_standin{:06}", N_IDS.fetch_add(1, Ordering::Relaxed))
}
