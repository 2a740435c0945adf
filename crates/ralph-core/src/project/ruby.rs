//! Ruby projects: RSpec, Rails' tests or a Rake test task, and RuboCop if it is configured.

use super::{EcosystemCommands, RootFiles};

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    let bundle = files.has("Gemfile");
    let run = if bundle { "bundle exec " } else { "" };
    let rspec = files.has(".rspec") || bundle && files.says("Gemfile", "rspec");
    let rails = bundle && files.says("Gemfile", "rails") && files.has("test");
    let rake = files.has("test") && files.says("Rakefile", "TestTask");
    let tests = if rspec {
        Some(format!("{run}rspec"))
    } else if rails {
        Some("bin/rails test".to_owned())
    } else {
        rake.then(|| format!("{run}rake test"))
    };
    let rubocop = bundle && files.has(".rubocop.yml");
    EcosystemCommands { tests, check: rubocop.then(|| format!("{run}rubocop")) }
}
