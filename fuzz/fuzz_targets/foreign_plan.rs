//! A plan of another tool: Markdown with boxes, `fix_plan.md`, `prd.json`; read and ticked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::shell::vacuous;
use ralph_core::state::{PlanFormat, TaskStatus};
use ralph_core::tasks::{foreign, graph};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for name in ["plan.md", "@fix_plan.md"] {
        let Some(format) = foreign::format(&text) else { continue };
        let plan = match foreign::read(format.clone(), name, &text) {
            Ok(plan) => plan,
            Err(problems) => {
                assert!(!problems.is_empty(), "a refusal has a reason");
                continue;
            }
        };
        assert!(graph::lint(&plan.plan.tasks).is_empty());
        let commands = plan.plan.criteria.iter().map(|one| one.verification_command.as_str());
        // A criterion without a command is reviewed.
        let commands = commands.filter(|command| !command.is_empty());
        assert!(commands.into_iter().all(|command| vacuous::refuse(command).is_none()));
        let file = plan.file(name);
        assert_eq!(foreign::tick(&text, &file, |_| false), foreign::Ticks::default());
        let ticks = foreign::tick(&text, &file, |_| true);
        let Some(new) = ticks.text else { continue };
        assert_eq!(
            foreign::tick(&new, &file, |_| true).text,
            None,
            "ticking twice changes nothing"
        );
        let is_prd = format == PlanFormat::Prd;
        if !is_prd {
            assert_eq!(new.len(), text.len());
            let differ = text.bytes().zip(new.bytes()).filter(|(old, new)| old != new);
            assert!(differ.into_iter().all(|change| change == (b' ', b'x')));
        }
        let again = foreign::read(format, name, &new).expect("a ticked plan is a plan");
        assert_eq!(again.plan.tasks.len(), plan.plan.tasks.len());
        if is_prd && ticks.lost.is_empty() {
            assert!(again.plan.tasks.iter().all(|task| task.status == TaskStatus::Done));
        }
    }
});
