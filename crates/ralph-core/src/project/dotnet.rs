//! .NET solutions and projects.

use super::{EcosystemCommands, RootFiles};

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    let any = files.has_ending(&[".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"]);
    EcosystemCommands { tests: any.then(|| "dotnet test".to_owned()), check: None }
}
