//! `./x` on machines that are not here: a fake system folder, a `PATH` of fake tools, and what the script makes of them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Programs that `x` needs on any machine, taken from this one.
const REAL_TOOLS: &[&str] = &["cat", "dirname", "grep", "mkdir", "mv", "sed", "sh", "tr"];

/// A machine with a checkout that holds only `x`; at first with root rights and neither LLVM, compiler nor cargo.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new(os_release: &str) -> Self {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "checkout", "root/etc"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        fs::write(machine.path("root/etc/os-release"), os_release).unwrap();
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("x"), machine.path("checkout/x")).unwrap();
        for tool in REAL_TOOLS {
            let path = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(tool));
            let path = path.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no {tool} on this machine"));
            std::os::unix::fs::symlink(path, machine.path("bin").join(tool)).unwrap();
        }
        machine.tool("id", "echo 0").tool("uname", "echo Linux")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn script(&self, path: &str, body: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn tool(self, name: &str, body: &str) -> Self {
        self.script(&format!("bin/{name}"), body);
        self
    }

    fn with_compiler(self) -> Self {
        self.tool("cc", "echo /usr/lib/libstdc++.so")
    }

    /// A cargo that tells how it was called.
    fn with_cargo(self) -> Self {
        self.tool("cargo", r#"echo "cargo $* ($FUSELINE_LLVM_FEATURE, ${LLVM_SYS_221_PREFIX:-no prefix})""#)
    }

    /// Installs LLVM into a folder of the machine, whole but for the files named in `without`.
    fn with_llvm(self, major: u32, folder: &str, without: &[&str]) -> Self {
        let prefix = self.path(folder);
        let answers = format!(
            "case $1 in --version) echo {major}.1.8 ;; --prefix) echo {0} ;; --includedir) echo {0}/include ;; \
             --link-shared) echo {0}/lib/libLLVM.so ;; esac",
            prefix.display()
        );
        for (file, body) in
            [("bin/llvm-config", answers.as_str()), ("include/llvm-c/Core.h", ""), ("lib/libLLVM.so", "")]
        {
            if !without.contains(&file) {
                self.script(&format!("{folder}/{file}"), body);
            }
        }
        self
    }

    fn x(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        let output = Command::new("/bin/sh")
            .arg(self.path("checkout/x"))
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("FUSELINE_SYSROOT", self.path("root"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        Run::new(&output)
    }

    fn config(&self) -> Option<String> {
        fs::read_to_string(self.path("checkout/.cargo/config.toml")).ok()
    }
}

#[derive(Debug)]
struct Run {
    success: bool,
    stdout: String,
    stderr: String,
}

impl Run {
    fn new(output: &Output) -> Self {
        Run {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn commands(&self) -> Vec<&str> {
        self.stdout.lines().map(str::trim).collect()
    }
}

const DEBIAN: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
const UBUNTU: &str = "ID=ubuntu\nID_LIKE=debian\n";
const FEDORA: &str = "ID=fedora\nVERSION_ID=44\n";
const ARCH: &str = "ID=arch\n";
const ALPINE: &str = "ID=alpine\n";

/// The commands of a dry run on a machine that has cargo and these tools.
fn planned(os_release: &str, tools: &[(&str, &str)]) -> Vec<String> {
    let machine = Machine::new(os_release).with_cargo();
    let machine = tools.iter().fold(machine, |machine, (name, body)| machine.tool(name, body));
    let run = machine.x(&["--dry-run", "test"], &[]);
    assert!(run.success, "{run:?}");
    assert_eq!(machine.config(), None, "a dry run writes nothing");
    run.commands().into_iter().map(str::to_owned).collect()
}

#[test]
fn apt_prefers_llvm_22() {
    let planned = planned(DEBIAN, &[("apt-cache", "exit 0")]);
    assert_eq!(planned, ["apt-get update", "apt-get install --yes --no-install-recommends llvm-22-dev g++"]);
}

#[test]
fn apt_falls_back_to_llvm_19_and_uses_sudo() {
    let tools = [("apt-cache", "[ \"$2\" = llvm-19-dev ]"), ("id", "echo 1000"), ("sudo", "exit 1")];
    let planned = planned(UBUNTU, &tools);
    assert_eq!(planned, ["sudo apt-get update", "sudo apt-get install --yes --no-install-recommends llvm-19-dev g++"]);
}

#[test]
fn apt_without_lists_names_what_it_will_look_for() {
    let planned = planned(DEBIAN, &[("apt-cache", "exit 100")]);
    assert!(planned[1].contains("(LLVM 22 or 19, headers and shared library) g++"), "{planned:?}");
}

#[test]
fn dnf_takes_the_main_or_the_versioned_package() {
    let main = "case $2 in list) exit 1 ;; info) echo 'Version      : 22.1.4' ;; esac";
    assert_eq!(planned(FEDORA, &[("dnf", main)]), ["dnf install --assumeyes llvm-devel gcc-c++"]);
    let versioned = "case $2 in list) [ \"$3\" = llvm19-devel ] ;; info) echo 'Version      : 21.1.0' ;; esac";
    assert_eq!(planned(FEDORA, &[("dnf", versioned)]), ["dnf install --assumeyes llvm19-devel gcc-c++"]);
}

#[test]
fn pacman_takes_the_main_or_the_versioned_package() {
    let main = "[ \"$2\" = llvm ] && echo 'Version         : 22.1.1-1'";
    assert_eq!(planned(ARCH, &[("pacman", main)]), ["pacman -Sy", "pacman -Su --needed --noconfirm llvm gcc"]);
    let versioned = "case $2 in llvm) echo 'Version         : 23.1.0-1' ;; llvm22) ;; *) exit 1 ;; esac";
    assert_eq!(planned(ARCH, &[("pacman", versioned)]), ["pacman -Sy", "pacman -Su --needed --noconfirm llvm22 gcc"]);
}

#[test]
fn apk_takes_the_versioned_package() {
    let search = "[ \"$4\" = llvm19-dev ] && echo llvm19-dev";
    assert_eq!(planned(ALPINE, &[("apk", search)]), ["apk update", "apk add llvm19-dev g++"]);
}

#[test]
fn brew_needs_no_root() {
    let tools = [("brew", "[ \"$2\" = llvm@22 ]"), ("uname", "echo Darwin"), ("cc", ""), ("id", "echo 501")];
    assert_eq!(planned("", &tools), ["brew install llvm@22"]);
}

#[test]
fn unknown_systems_are_told_what_is_needed() {
    let run = Machine::new("ID=plan9\n").x(&[], &[]);
    assert!(!run.success && run.stderr.contains("no known package manager: install LLVM 22 or 19"), "{run:?}");
}

#[test]
fn without_root_and_sudo_it_prints_the_commands_and_stops() {
    let machine = Machine::new(DEBIAN).tool("apt-cache", "exit 0").tool("id", "echo 1000");
    let machine = machine.tool("apt-get", "echo called");
    let run = machine.x(&["test"], &[]);
    assert!(!run.success && run.stderr.contains("neither root nor sudo"), "{run:?}");
    let expected = ["sudo apt-get update", "sudo apt-get install --yes --no-install-recommends llvm-22-dev g++"];
    assert_eq!(run.commands(), expected, "and nothing ran");
}

#[test]
fn it_installs_records_the_prefix_and_starts_the_command() {
    let machine = Machine::new(DEBIAN).with_cargo().tool("apt-cache", "exit 0");
    // The package appears, as it does on a real machine, where the distribution puts it.
    let machine = machine.with_llvm(22, "package", &[]).with_llvm(22, "root/usr/lib/llvm-22", &["bin/llvm-config"]);
    let prefix = machine.path("root/usr/lib/llvm-22");
    let installed = format!(
        "[ \"$1\" = update ] && exit\nmkdir {0}/bin\nsed 's|package|root/usr/lib/llvm-22|g' {1} >{0}/bin/llvm-config\n\
         {2} 755 {0}/bin/llvm-config\nmv {3} {4}",
        prefix.display(),
        machine.path("package/bin/llvm-config").display(),
        ["/bin/chmod", "/usr/bin/chmod"].into_iter().find(|path| Path::new(path).exists()).unwrap(),
        machine.path("bin/cc-to-be").display(),
        machine.path("bin/cc").display(),
    );
    let machine = machine.tool("cc-to-be", "echo /usr/lib/libstdc++.so").tool("apt-get", &installed);
    let run = machine.x(&["test", "memo table"], &[]);
    assert!(run.success, "{run:?}");
    assert!(run.stdout.contains("package fuseline-xtask -- test memo table (llvm22, no prefix)"), "{run:?}");
    let config = machine.config().unwrap();
    assert!(config.contains(&format!("LLVM_SYS_221_PREFIX = \"{}\"", prefix.display())), "{config}");
}

#[test]
fn a_second_start_changes_nothing() {
    let machine = Machine::new(DEBIAN).with_cargo().with_compiler().with_llvm(22, "root/usr/lib/llvm-22", &[]);
    assert!(machine.x(&["help"], &[]).success);
    let config = machine.path("checkout/.cargo/config.toml");
    let old = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options().write(true).open(&config).unwrap().set_modified(old).unwrap();
    let second = machine.x(&["help"], &[]);
    assert!(second.success && second.stderr.is_empty(), "{second:?}");
    assert_eq!(fs::metadata(&config).unwrap().modified().unwrap(), old, "the file was written again");
}

#[test]
fn llvm_without_headers_or_library_does_not_count() {
    for missing in ["include/llvm-c/Core.h", "lib/libLLVM.so"] {
        let machine = Machine::new(DEBIAN).with_compiler().with_cargo().tool("apt-cache", "exit 0");
        let run = machine.with_llvm(22, "root/usr/lib/llvm-22", &[missing]).x(&["--dry-run"], &[]);
        assert!(run.stderr.contains("missing: LLVM 22 or 19"), "without {missing}: {run:?}");
        assert_eq!(run.commands()[1], "apt-get install --yes --no-install-recommends llvm-22-dev");
    }
}

#[test]
fn llvm_19_serves_and_its_features_are_told() {
    let machine = Machine::new(FEDORA).with_cargo().with_compiler().with_llvm(19, "root/usr/lib64/llvm19", &[]);
    let run = machine.x(&["build"], &[]);
    assert!(run.success && run.stderr.contains("--no-default-features --features llvm19"), "{run:?}");
    assert!(run.stdout.contains("-- build (llvm19, no prefix)"), "{run:?}");
    assert!(machine.config().unwrap().contains("LLVM_SYS_191_PREFIX"), "{:?}", machine.config());
}

#[test]
fn variables_choose_the_version_and_the_folder() {
    let machine = Machine::new(DEBIAN).with_cargo().with_compiler();
    let machine = machine.with_llvm(22, "root/usr/lib/llvm-22", &[]).with_llvm(19, "own llvm", &[]);
    let own = machine.path("own llvm");
    let variables = [("FUSELINE_LLVM", "19"), ("LLVM_SYS_191_PREFIX", own.to_str().unwrap())];
    assert!(machine.x(&["help"], &variables).stdout.contains("(llvm19, no prefix)"));
    let later = machine.x(&["help"], &variables[..1]);
    assert!(later.stdout.contains("(llvm19, no prefix)"), "the recorded folder is found again: {later:?}");
    let wrong = machine.x(&["help"], &[("LLVM_SYS_221_PREFIX", own.to_str().unwrap())]);
    assert!(!wrong.success && wrong.stderr.contains("holds no LLVM 22"), "{wrong:?}");
    let unknown = machine.x(&["help"], &[("FUSELINE_LLVM", "20")]);
    assert!(!unknown.success && unknown.stderr.contains("22 or 19, not 20"), "{unknown:?}");
}

#[test]
fn a_configuration_of_the_users_own_stays() {
    let machine = Machine::new(DEBIAN).with_cargo().with_compiler().with_llvm(22, "root/usr/lib/llvm-22", &[]);
    machine.script("checkout/.cargo/config.toml", "# mine");
    let before = machine.config();
    let run = machine.x(&["help"], &[]);
    let prefix = machine.path("root/usr/lib/llvm-22");
    assert!(run.stdout.contains(&format!("(llvm22, {})", prefix.display())), "{run:?}");
    assert_eq!(machine.config(), before);
}

#[test]
fn without_cargo_it_says_how_to_get_it() {
    let machine = Machine::new(DEBIAN).with_compiler().with_llvm(22, "root/usr/lib/llvm-22", &[]);
    let run = machine.x(&["test"], &[]);
    assert!(!run.success && run.stdout.contains("https://sh.rustup.rs"), "{run:?}");
    assert_eq!(machine.config(), None);
}
