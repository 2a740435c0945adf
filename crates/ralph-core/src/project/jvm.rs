//! Maven and Gradle, with the project's wrapper if it has one. Running the tests compiles first, so
//! there is no separate check.

use super::{EcosystemCommands, RootFiles};

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    let gradle = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    let tests = if files.has("pom.xml") {
        Some(if files.has("mvnw") { "./mvnw -B test" } else { "mvn -B test" })
    } else if files.has_any(&gradle) {
        Some(if files.has("gradlew") { "./gradlew test" } else { "gradle test" })
    } else {
        None
    };
    EcosystemCommands { tests: tests.map(str::to_owned), check: None }
}
