//! Measures
use ralph::standin::{Script, StandIn, Turn};
use serde_json::json;
use crate::Test;
use crate::support::{World, wait_until};
use std::time::Duration;

pub(crate) const TESTS: &[Test] = tests![measure_cron, measure_wakeup, measure_fds];

fn measure_cron() {
    let world = World::new();
    let probe = world.probe("UserPromptSubmit", "");
    let stop = world.probe("Stop", "");
    let pre = world.probe("PreToolUse", "");
    let call = json!({"cron": "* * * * *", "prompt": "ralph cancel", "recurring": false, "durable": false});
    let stand_in = StandIn::start(Script::new().turn(Turn::tool("CronCreate", call)).repeat(Turn::text("Answer."))).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("Schedule it.").wait_for("Answer.");
    wait_until(Duration::from_secs(200), || probe.calls().len() >= 2);
    wait_until(Duration::from_secs(5), || stop.calls().len() >= 2);
    std::fs::write("/tmp/h5-cron.txt", format!("PROBE {:#?}\nSTOP {:#?}\nPRE {:#?}\nROWS {:#?}\n{}", probe.calls(), stop.calls(), pre.calls(), world.transcript(), terminal.screen())).unwrap();
}

fn measure_wakeup() {
    let world = World::new();
    let probe = world.probe("UserPromptSubmit", "");
    let expansion = world.probe("UserPromptExpansion", "");
    let stop = world.probe("Stop", "");
    let pre = world.probe("PreToolUse", "");
    world.skill("hello", "---\nname: hello\ndescription: Says hello\n---\nSay hello to $ARGUMENTS.\n");
    let call = json!({"delaySeconds": 60, "reason": "later", "prompt": "/hello world"});
    let stand_in = StandIn::start(Script::new().turn(Turn::tool("ScheduleWakeup", call)).repeat(Turn::text("Answer."))).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("Schedule it.").wait_for("Answer.");
    wait_until(Duration::from_secs(200), || probe.calls().len() >= 2);
    wait_until(Duration::from_secs(5), || stop.calls().len() >= 2);
    std::fs::write("/tmp/h5-wakeup.txt", format!("PROBE {:#?}\nEXP {:#?}\nSTOP {:#?}\nPRE {:#?}\nROWS {:#?}\n{}", probe.calls(), expansion.calls(), stop.calls(), pre.calls(), world.transcript(), terminal.screen())).unwrap();
}

fn measure_fds() {
    let world = World::new();
    let script = world.root().join("fds.py");
    std::fs::write(&script, r#"#!/usr/bin/env python3
import os, socket, stat, struct, sys
out = [" ".join(sys.argv), "CLAUDE_PID=" + os.environ.get("CLAUDE_PID", "")]
st = os.fstat(0)
out.append("fd0 " + os.readlink("/proc/self/fd/0"))
if stat.S_ISSOCK(st.st_mode):
    s = socket.socket(fileno=0)
    out.append("peer %d %d %d" % struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))
    s.detach()
pid = os.getpid()
while pid > 1:
    stat_ = open("/proc/%d/stat" % pid).read()
    rest = stat_.rsplit(")", 1)[1].split()
    cmd = open("/proc/%d/cmdline" % pid).read().replace("\0", " ")[:150]
    out.append("%d ppid %s sid %s tty %s start %s exe %s cmd %s" % (pid, rest[1], rest[3], rest[4], rest[19], os.readlink("/proc/%d/exe" % pid), cmd))
    pid = int(rest[1])
    if len(out) > 12: break
open("/tmp/h5-fds.txt", "a").write("\n".join(out) + "\n\n")
"#).unwrap();
    let path = script.to_str().unwrap().to_owned();
    let py = "/usr/bin/python3";
    for event in ["UserPromptSubmit", "Stop", "SessionEnd", "SessionStart"] {
        world.hook(event, "", json!({"type": "command", "command": py, "args": [path, event, "exec"]}));
        world.hook(event, "", json!({"type": "command", "command": format!("{py} {path} {event} shell")}));
    }
    world.hook("Stop", "", json!({"type": "command", "command": py, "args": [path, "Stop", "asyncRewake"], "asyncRewake": true}));
    world.settings(json!({"statusLine": {"type": "command", "command": format!("{py} {path} statusline")}}));
    let bash = format!("{py} {path} bash; exec {py} {path} bashexec");
    let stand_in = StandIn::start(Script::new().turn(Turn::bash(&bash)).repeat(Turn::text("Answer."))).unwrap();
    world.client(&stand_in).prompt("Go.");
    let stand_in = StandIn::start(Script::new().turn(Turn::bash(&bash)).repeat(Turn::text("Answer."))).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("Go").wait_for("Answer.");
    terminal.submit(&format!("!{py} {path} bang"));
    wait_until(Duration::from_secs(5), || std::fs::read_to_string("/tmp/h5-fds.txt").unwrap().contains(" bang"));
}
