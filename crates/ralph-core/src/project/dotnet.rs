//! .NET solutions and projects.

use super::{EcosystemCommands, ProjectFiles};

pub(super) fn find(files: &ProjectFiles) -> EcosystemCommands {
    let any = files.has_ending(&[".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"]);
    EcosystemCommands { tests: any.then(|| "dotnet test".to_owned()), check: None }
}
