//! Deserializes the state document and its tasks.
//!
//! Written by hand because every hook that acts on a loop links this code: the derived code, with
//! unknown members kept, is ten times as long. Tasks are deserialized directly, because there may
//! be thousands; the rest of the state goes through a `Value`.

use super::{LoopState, ModeState, Task, TaskList, TaskStatus};
use crate::text::from_json::{FromJson, Members, Mistake};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// A member's name: the index of a known name, or an unknown name itself.
enum MemberName {
    Known(usize),
    Other(String),
}

/// Reads a member's name without allocating for a known one.
struct Among(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Among {
    type Value = MemberName;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<MemberName, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Among {
    type Value = MemberName;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<MemberName, E> {
        let known = self.0.iter().position(|known| *known == name);
        Ok(known.map_or_else(|| MemberName::Other(name.to_owned()), MemberName::Known))
    }
}

impl<'de> Deserialize<'de> for LoopState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = LoopState;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("the state of a loop")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LoopState, A::Error> {
                let mut tasks = TaskList::default();
                let mut others = Map::new();
                while let Some(name) = map.next_key_seed(Among(&["task_graph"]))? {
                    match name {
                        MemberName::Known(_) => tasks = map.next_value()?,
                        MemberName::Other(name) => drop(others.insert(name, map.next_value()?)),
                    }
                }
                let state = of_members(Members::of(Value::Object(others)).map_err(Error::custom)?);
                Ok(LoopState { task_graph: tasks, ..state.map_err(Error::custom)? })
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

/// Reads everything but the tasks. Absent members get their defaults.
fn of_members(mut members: Members) -> Result<LoopState, Mistake> {
    let mut read = LoopState::default();
    macro_rules! take {
        ($($field:ident)+) => { $(members.take(stringify!($field), &mut read.$field)?;)+ };
    }
    take!(schema_version loop_id session_id phase resume_phase pause ending project_root document prompt);
    take!(max_iterations iteration created_at started_at paused_seconds updated_at acceptance_criteria frozen);
    take!(baseline_pending checkpoint context_report stall_hashes progress blocked);
    take!(completion_token errors completion stall_limit limits usage lineage settings via);
    take!(started_by turn client touched cancelled_by_prompt obeyed scheduled let_finish context_lost details_due round rounds);
    take!(parallel workers parent environment plan_file review reviews reviewers bounds);
    take!(change observing refusals refused judgements held_together outputs tests_may_change);
    read.mode = ModeState::take(&mut members)?;
    read.extra = members.rest();
    Ok(read)
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Task;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a task")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Task, A::Error> {
                const NAMES: &[&str] = &[
                    "id",
                    "name",
                    "deps",
                    "status",
                    "completion_condition",
                    "files",
                    "owner",
                    "lease_expires_at",
                    "attempts",
                    "verify",
                    "result",
                ];
                let mut task = Task::default();
                while let Some(name) = map.next_key_seed(Among(NAMES))? {
                    match name {
                        MemberName::Known(0) => task.id = map.next_value()?,
                        MemberName::Known(1) => task.name = map.next_value()?,
                        MemberName::Known(2) => task.deps = map.next_value()?,
                        MemberName::Known(3) => task.status = TaskStatus::read(map.next_value()?),
                        MemberName::Known(4) => task.completion_condition = map.next_value()?,
                        MemberName::Known(5) => task.files = map.next_value()?,
                        MemberName::Known(6) => task.owner = map.next_value()?,
                        MemberName::Known(7) => {
                            let value = map.next_value()?;
                            task.lease_expires_at =
                                FromJson::from_json(value).map_err(Error::custom)?;
                        }
                        MemberName::Known(8) => task.attempts = map.next_value()?,
                        MemberName::Known(9) => task.verify = map.next_value()?,
                        MemberName::Known(_) => task.result = map.next_value()?,
                        MemberName::Other(name) => drop(task.extra.insert(name, map.next_value()?)),
                    }
                }
                Ok(task)
            }
        }

        deserializer.deserialize_map(Reader)
    }
}
