//! Which ledger counts: made by a command, bound to tables, noted beside the data; and the least
//! epsilon of a query.

use crate::program::{Run, run};
use crate::question::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

const SMOKERS: &str = "SELECT smokes, COUNT(*) FROM workers GROUP BY smokes";
const NOTES: &str = ".reticent-ledgers";

/// The factory under a policy that makes no ledger by itself, and says this about its budget
/// besides.
fn careful(name: &str, budget: &str) -> Folder {
    let folder = Folder::factory(name);
    folder.set_budget(&format!("epsilon = 2\ndelta = 1e-6\nquery_epsilon = 0.25\n{budget}"));
    change(&folder, "create_ledger = true\n", "");
    folder
}

/// Changes the policy, as its owner would with an editor.
fn change(folder: &Folder, from: &str, to: &str) {
    let policy = folder.read("policy.toml");
    assert!(policy.contains(from), "{from}");
    folder.write("policy.toml", policy.replacen(from, to, 1).as_bytes());
}

/// A policy in another folder for the same data, by its full name.
fn copied(folder: &Folder, at: &str) -> PathBuf {
    let policy = folder.file(at).join("policy.toml");
    std::fs::create_dir_all(policy.parent().unwrap()).unwrap();
    let data = folder.file("workers.csv");
    let text = folder.read("policy.toml").replace("\"workers.csv\"", &format!("{data:?}"));
    std::fs::write(&policy, text).unwrap();
    policy
}

fn under(policy: &Path, words: &[&str]) -> Run {
    let words: Vec<&str> =
        words.iter().copied().chain(["--policy", policy.to_str().unwrap()]).collect();
    run(&words, b"")
}

/// What a refusal says: exit code 2, and nothing on standard output.
fn refused(run: Run, expected: &[&str]) -> String {
    let message = run.refused();
    for words in expected {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{message}");
    message
}

#[test]
fn a_query_below_the_least_epsilon_is_refused() {
    let folder = Folder::factory("floor");
    // A ten-thousandth of 2.
    for command in ["query", "explain"] {
        for epsilon in ["1e-15", "1.999999e-4", "2.3e-308"] {
            let expected = [
                &format!("epsilon is {epsilon}"),
                "at least 2e-4 is accepted",
                "min_query_epsilon",
            ];
            refused(folder.run(&[command, "--epsilon", epsilon, SMOKERS]), &expected);
        }
        let sql =
            format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.0001) {}", &SMOKERS[7..]);
        refused(folder.run(&[command, &sql]), &["epsilon is 1e-4: at least 2e-4"]);
    }
    assert!(!folder.ledger().exists(), "nothing was paid for");
    folder.run(&["query", "--epsilon", "2e-4", SMOKERS]).done();
    assert_eq!(folder.spent(), 2e-4);
    // The policy's own words.
    folder.set_budget("epsilon = 2\ndelta = 1e-6\nquery_epsilon = 0.25\nmin_query_epsilon = 0.125");
    refused(
        folder.run(&["query", "--epsilon", "0.1", SMOKERS]),
        &["epsilon is 0.1: at least 0.125"],
    );
    folder.run(&["query", "--epsilon", "0.125", SMOKERS]).done();
    for (budget, expected) in [
        ("min_query_epsilon = 0", "budget.min_query_epsilon = 0 is not accepted"),
        ("min_query_epsilon = -1", "budget.min_query_epsilon = -1 is not accepted"),
        ("min_query_epsilon = nan", "budget.min_query_epsilon = NaN is not accepted"),
        ("min_query_epsilon = inf", "budget.min_query_epsilon = inf is not accepted"),
        (
            "min_query_epsilon = 0.3\nquery_epsilon = 0.25",
            "at most budget.query_epsilon, which is 0.25",
        ),
        ("query_epsilon = 1e-4", "budget.query_epsilon = 0.0001 is not accepted: at least 0.0002"),
    ] {
        folder.set_budget(&format!("epsilon = 2\ndelta = 1e-6\n{budget}"));
        refused(folder.run(&["query", SMOKERS]), &[expected]);
    }
}

/// A budget buys about as many runs in either currency, and never 10^15.
#[test]
fn the_least_epsilon_bounds_how_many_queries_fit() {
    for (accounting, epsilon, delta, least, most) in [
        ("basic", "1e-4", "0", 9_999.0, 10_001.0),
        ("basic", "1e-4", "1e-8", 9_999.0, 10_001.0),
        ("zero-concentrated", "0.01", "1e-8", 7_700.0, 7_900.0),
        ("zero-concentrated", "0.01", "1e-300", 610_000.0, 630_000.0),
        ("zero-concentrated", "0.01", "0", 100.0, 10_000.0),
    ] {
        let budget = format!("epsilon = 1\ndelta = 1e-6\naccounting = \"{accounting}\"");
        let folder = Folder::factory_with_budget("fit", &budget);
        let before = folder.run(&["ledger", "create", "--format", "json"]).json();
        assert_eq!(before["unnoted"].as_array().unwrap().len(), 0);
        let whole = folder.budget()["remaining"]["cost"].as_f64().unwrap();
        let quote = folder
            .run(&["explain", "--format", "json", "--epsilon", epsilon, "--delta", delta, SMOKERS])
            .json();
        let left = quote["ledger"]["remaining"]["cost"].as_f64().unwrap();
        let queries = whole / (whole - left);
        assert!((least..most).contains(&queries), "{accounting} at delta {delta}: {queries}");
    }
}

#[test]
fn without_a_ledger_nothing_is_answered_and_nothing_is_made() {
    let folder = careful("careful", "");
    let create =
        format!("`reticent ledger create --policy {}`", folder.file("policy.toml").display());
    refused(
        folder.run(&["query", SMOKERS]),
        &["there is no ledger at", "policy.ledger", &create, "put it back"],
    );
    refused(folder.run(&["query", "--fresh", SMOKERS]), &[&create]);
    refused(folder.run(&["budget", "--amend"]), &[&create]);
    refused(folder.run(&["ledger", "verify"]), &[&create]);
    refused(folder.run(&["ledger", "anchor"]), &[&create]);
    refused(folder.run(&["ledger", "adopt"]), &[&create]);
    let explained = folder.run(&["explain", SMOKERS]).done();
    assert!(
        explained.contains("there is no ledger yet") && explained.contains(&create),
        "{explained}"
    );
    assert_eq!(
        folder.run(&["explain", "--format", "json", SMOKERS]).json()["ledger"]["state"],
        "none"
    );
    let budget = folder.run(&["budget"]).done();
    assert!(budget.contains("There is no ledger yet") && budget.contains(&create), "{budget}");
    let names: Vec<_> = std::fs::read_dir(folder.file(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "nothing was made: {names:?}");

    let made = folder.run(&["ledger", "create"]);
    assert_eq!(made.stderr, "");
    let text = made.done();
    let data = folder.file("workers.csv").canonicalize().unwrap();
    for expected in [
        "A new ledger was created: ",
        "all of epsilon 2 and delta 1e-6 is left",
        data.to_str().unwrap(),
    ] {
        assert!(text.contains(expected), "{text}");
    }
    refused(folder.run(&["ledger", "create"]), &["exists already; a ledger is never replaced"]);
    refused(folder.run(&["ledger", "create", "--another-budget"]), &["exists already"]);
    let answered = folder.run(&["query", SMOKERS]);
    assert_eq!(answered.stderr, "", "nothing is made now");
    answered.done();
    assert_eq!(folder.spent(), 0.25);
    assert_eq!(folder.read(NOTES).lines().count(), 1);
    assert!(folder.run(&["ledger", "verify"]).done().contains(data.to_str().unwrap()));
}

#[test]
fn a_deleted_ledger_is_noticed() {
    for create in ["", "create_ledger = true"] {
        let folder = careful("deleted", create);
        folder.run(&["ledger", "create"]).done();
        folder.ask(SMOKERS);
        let ledger = std::fs::read(folder.ledger()).unwrap();
        std::fs::remove_file(folder.ledger()).unwrap();
        let noticed =
            ["that is not there any more", NOTES, "ledger create --another-budget", "adds up"];
        refused(folder.run(&["query", SMOKERS]), &noticed);
        refused(folder.run(&["ledger", "create"]), &noticed);
        let explained = folder.run(&["explain", SMOKERS]).done();
        assert!(
            explained.contains("would be refused") && explained.contains("not there any more"),
            "{explained}"
        );
        assert!(!folder.ledger().exists());
        std::fs::write(folder.ledger(), &ledger).unwrap();
        folder.run(&["query", SMOKERS]).done();
        assert_eq!(folder.spent(), 0.25);
        // The owner's word.
        std::fs::remove_file(folder.ledger()).unwrap();
        folder.run(&["ledger", "create", "--another-budget"]).done();
        folder.ask(SMOKERS);
        assert_eq!((folder.spent(), folder.read(NOTES).lines().count()), (0.25, 2));
        // The first one, put back where it was, is not forgotten either: both are noted.
        std::fs::write(folder.ledger(), &ledger).unwrap();
        folder.run(&["query", SMOKERS]).done();
        // What docs/ledger.md says is not noticed: without the notes nobody knows.
        std::fs::remove_file(folder.ledger()).unwrap();
        std::fs::remove_file(folder.file(NOTES)).unwrap();
        if create.is_empty() {
            refused(folder.run(&["query", SMOKERS]), &["there is no ledger at"]);
        } else {
            assert!(folder.run(&["query", SMOKERS]).stderr.contains("nothing counts as spent"));
        }
    }
}

#[test]
fn a_policy_that_is_copied_elsewhere_is_noticed() {
    let folder = Folder::factory("copied");
    folder.ask(SMOKERS);
    let copy = copied(&folder, "elsewhere");
    let first = folder.ledger().canonicalize().unwrap();
    let noticed =
        ["is protected by the ledger", first.to_str().unwrap(), "Use that one", "--another-budget"];
    refused(under(&copy, &["query", SMOKERS]), &noticed);
    refused(under(&copy, &["ledger", "create"]), &noticed);
    assert!(!folder.file("elsewhere/policy.ledger").exists());
    // The advice works: the same ledger, the same answer.
    let text = std::fs::read_to_string(&copy).unwrap();
    std::fs::write(&copy, format!("ledger = {first:?}\n{text}")).unwrap();
    assert!(under(&copy, &["query", SMOKERS]).stderr.is_empty());
    assert_eq!(
        folder.budget()["releases"].as_array().unwrap().len(),
        2,
        "another policy, so another question"
    );
    // And so does the owner's word.
    std::fs::write(&copy, text).unwrap();
    under(&copy, &["ledger", "create", "--another-budget"]).done();
    under(&copy, &["query", SMOKERS]).done();
    folder.ask_afresh(SMOKERS);
    // Data that was copied too is other data to the program.
    let other = Folder::factory("copied too");
    other.ask(SMOKERS);
}

#[test]
fn a_second_ledger_over_the_same_files_is_noticed_by_folders_and_patterns_too() {
    let folder = Folder::new("folders");
    for file in ["data/2024/a.csv", "data/2024/b.csv", "data/2025/a.csv"] {
        std::fs::create_dir_all(folder.file(file).parent().unwrap()).unwrap();
        folder.write(file, b"person,town\n1,x\n");
    }
    let policy = |name: &str, source: &str| {
        let text = format!(
            "[budget]\nepsilon = 1\n[tables.t]\nsource = {source:?}\nunit = \"person\"\nmax_groups \
             = 1\nmax_rows = 1\n\
             columns.person.type = \"integer\"\n"
        );
        folder.write(name, text.as_bytes());
        folder.file(name)
    };
    let create = |source: &str| {
        let name = format!("{}.toml", source.replace(['/', '*', '?'], "_"));
        let made = under(&policy(&name, source), &["ledger", "create"]);
        assert!([0, 2].contains(&made.code), "{made:?}");
        made.code == 0
    };
    assert!(create("data/2024/a.csv"));
    assert!(create("data/2024/b.csv"), "another file of the same folder");
    for again in [
        "data/2024/../2024/a.csv",
        "data/2024",
        "data",
        "data/*",
        "data/*/a.csv",
        "data/**/b.csv",
        "data/2024/?.csv",
    ] {
        assert!(!create(again), "{again}");
    }
    assert!(create("data/2025/*.csv"));
    for again in ["data/2025/a.csv", "data/2025/later.csv", "data/2025", "data/*/a*"] {
        assert!(!create(again), "{again}");
    }
    for other in ["data/2025.csv", "data/2024/c*.csv", "*.csv"] {
        assert!(create(other), "{other}");
    }
    // The notes themselves are no data, whatever a pattern matches.
    let everything = policy("everything.toml", "data/**");
    under(&everything, &["ledger", "create", "--another-budget"]).done();
    assert!(folder.file("data").join(NOTES).exists());
    under(&everything, &["query", "SELECT COUNT(*) FROM t"]).done();
    std::os::unix::fs::symlink(folder.file("data"), folder.file("link")).unwrap();
    assert!(!create("link/2024/a.csv"), "links are resolved");
}

#[test]
fn a_ledger_is_bound_to_the_private_tables() {
    let folder = Folder::factory("bound");
    folder.ask(SMOKERS);
    std::fs::copy(folder.file("workers.csv"), folder.file("others.csv")).unwrap();
    let policy = folder.read("policy.toml");
    let adopt = "reticent ledger adopt";
    let another =
        "[tables.more]\nsource = \"others.csv\"\neach_row = true\ncolumns.smokes.type = \"text\"\n";
    for (changed, expected) in [
        (policy.replace("workers.csv", "others.csv"), "and in the policy it is from"),
        (format!("{policy}\n{another}"), "which the ledger does not protect"),
        (policy.replace("tables.workers", "tables.staff"), "no private table of that name"),
        (
            policy.replace("unit = \"worker\"\nmax_groups = 1\nmax_rows = 1", "each_row = true"),
            "all rows of one \"worker\" in workers, and the policy each row",
        ),
    ] {
        folder.write("policy.toml", changed.as_bytes());
        let sql = SMOKERS
            .replace("workers", if changed.contains("tables.staff") { "staff" } else { "workers" });
        refused(folder.run(&["query", "--fresh", &sql]), &[expected, adopt]);
        refused(folder.run(&["budget", "--amend"]), &[expected, adopt]);
        let explained = folder.run(&["explain", &sql]).done();
        assert!(
            explained.contains("would be refused") && explained.contains(expected),
            "{explained}"
        );
        let budget = folder.run(&["budget"]).done();
        assert!(budget.contains(expected) && budget.contains(adopt), "{budget}");
    }
    // What is public, and limits, may change.
    let public = another.replace("each_row", "public");
    let free = format!("{}\n{public}", policy.replace("max_rows = 1", "max_rows = 2"));
    folder.write("policy.toml", free.as_bytes());
    folder.ask_afresh(SMOKERS);
    // Another private table is a decision, and gives nothing back.
    folder.write("policy.toml", format!("{policy}\n{another}").as_bytes());
    let text = folder.run(&["ledger", "adopt"]).done();
    assert!(text.contains("others.csv") && text.contains("What was spent stays spent"), "{text}");
    folder.run(&["ledger", "adopt"]).done();
    folder.ask("SELECT COUNT(*) FROM more");
    assert_eq!(folder.spent(), 0.75);
    let decisions = folder.budget()["decisions"].clone();
    assert_eq!(decisions.as_array().unwrap().len(), 2, "{decisions}");
    assert_eq!(decisions[1]["protects"][0]["name"], "more");
    folder.write("policy.toml", policy.as_bytes());
    refused(folder.run(&["query", SMOKERS]), &["no private table of that name", adopt]);
}

#[test]
fn a_ledger_that_is_moved_goes_on_and_a_copy_is_refused() {
    let folder = Folder::factory("moved");
    folder.ask(SMOKERS);
    std::fs::rename(folder.ledger(), folder.file("spent.ledger")).unwrap();
    let policy = folder.read("policy.toml");
    folder.write("policy.toml", format!("ledger = \"spent.ledger\"\n{policy}").as_bytes());
    folder.ask_afresh(SMOKERS);
    assert_eq!((folder.spent(), folder.read(NOTES).lines().count()), (0.5, 2));
    folder.ask_afresh(SMOKERS);
    assert_eq!(folder.read(NOTES).lines().count(), 2, "it is noted once");
    std::fs::copy(folder.file("spent.ledger"), folder.ledger()).unwrap();
    folder.write("policy.toml", policy.as_bytes());
    let expected = ["is a copy of", "spent.ledger, which is still there", "two budgets"];
    refused(folder.run(&["query", "--fresh", SMOKERS]), &expected);
    refused(folder.run(&["ledger", "adopt"]), &expected);
    refused(folder.run(&["ledger", "adopt", "--another-budget"]), &expected);
    std::fs::remove_file(folder.file("spent.ledger")).unwrap();
    folder.ask_afresh(SMOKERS);
    assert_eq!(folder.spent(), 1.0);

    // A whole folder that was moved is other paths: the owner says so once.
    let moved = Folder::new("moved away");
    for name in ["policy.toml", "workers.csv", "policy.ledger", NOTES] {
        std::fs::rename(folder.file(name), moved.file(name)).unwrap();
    }
    refused(
        moved.run(&["query", SMOKERS]),
        &["and in the policy it is from", "reticent ledger adopt"],
    );
    moved.run(&["ledger", "adopt"]).done();
    moved.ask(SMOKERS);
    assert_eq!(moved.spent(), 1.0, "the stored answer");
    // And one that was copied is noticed by its notes.
    for name in ["policy.toml", "workers.csv", "policy.ledger", NOTES] {
        std::fs::copy(moved.file(name), folder.file(name)).unwrap();
    }
    refused(folder.run(&["ledger", "adopt"]), &["is a copy of", "two budgets"]);
}

#[test]
fn another_ledger_in_place_of_the_right_one_is_noticed() {
    let folder = Folder::factory("usurped");
    folder.ask(SMOKERS);
    let notes = folder.read(NOTES);
    std::fs::remove_file(folder.file(NOTES)).unwrap();
    std::fs::remove_file(folder.ledger()).unwrap();
    folder.ask(SMOKERS);
    // The notes of before are found again.
    folder.write(NOTES, notes.as_bytes());
    refused(
        folder.run(&["query", SMOKERS]),
        &["was protected by another ledger than is at", "ledger adopt --another-budget"],
    );
    refused(folder.run(&["ledger", "adopt"]), &["ledger adopt --another-budget"]);
    folder.run(&["ledger", "adopt", "--another-budget"]).done();
    folder.run(&["query", SMOKERS]).done();
}

#[test]
fn where_no_note_can_be_left_it_is_said_and_made_up_for_later() {
    let folder = careful("unnoted", "");
    change(&folder, "\"workers.csv\"", "\"later/workers.csv\"");
    let made = folder.run(&["ledger", "create"]);
    let later = folder.file("").canonicalize().unwrap().join("later");
    let expected = format!("no note of the ledger could be left in {} (", later.display());
    assert!(
        made.stderr.starts_with(&expected) && made.stderr.contains("will not be noticed"),
        "{}",
        made.stderr
    );
    made.done();
    assert_eq!(folder.run(&["query", SMOKERS]).code, 1, "no data yet");
    std::fs::create_dir(&later).unwrap();
    std::fs::rename(folder.file("workers.csv"), later.join("workers.csv")).unwrap();
    folder.ask(SMOKERS);
    assert_eq!(std::fs::read_to_string(later.join(NOTES)).unwrap().lines().count(), 1);
}

#[test]
fn notes_that_cannot_be_read_are_an_error_that_names_them() {
    let folder = careful("hostile notes", "");
    let notes = folder.file(NOTES);
    let fails = |expected: &str| {
        for words in [["ledger", "create"], ["query", SMOKERS]] {
            let failed = folder.run(&words);
            assert_eq!((failed.code, failed.stdout.as_str()), (1, ""), "{failed:?}");
            assert!(
                failed.stderr.contains(expected) && failed.stderr.contains(NOTES),
                "{}",
                failed.stderr
            );
        }
        assert!(!folder.ledger().exists());
    };
    for garbage in [
        &b"hello\n"[..],
        b"\xff\xfe\n",
        b"{}\n",
        b"[1]\n\n",
        b"{\"ledger\":\"00\",\"path\":\"/\",\"sources\":[]}\n",
    ] {
        folder.write(NOTES, garbage);
        fails("cannot be read in line 1");
    }
    folder.write(NOTES, &vec![b'\n'; (1 << 20) + 1]);
    fails("is larger than 1 MiB");
    std::fs::remove_file(&notes).unwrap();
    std::fs::create_dir(&notes).unwrap();
    fails("is not a regular file");
    std::fs::remove_dir(&notes).unwrap();
    std::os::unix::fs::symlink(folder.file("elsewhere"), &notes).unwrap();
    fails("is not a regular file");
    assert!(!folder.file("elsewhere").exists(), "links are not followed");
    std::fs::remove_file(&notes).unwrap();
    // Opening a pipe would wait for ever.
    assert!(Command::new("mkfifo").arg(&notes).status().unwrap().success());
    fails("is not a regular file");
    std::fs::remove_file(&notes).unwrap();
    // What a crash left of a line is passed over, and cut off by the next.
    folder.write(NOTES, b"{\"ledger\":\"0123");
    folder.run(&["ledger", "create"]).done();
    assert!(
        folder.read(NOTES).starts_with("{\"ledger\":\"") && folder.read(NOTES).ends_with("}\n")
    );
    assert_eq!(folder.read(NOTES).lines().count(), 1);
    folder.ask(SMOKERS);
}

#[test]
fn of_several_that_make_a_ledger_at_once_one_does() {
    for round in 0..4 {
        let folder = careful("at once", "");
        // Half of them for a ledger of another policy over the same data.
        let copy = copied(&folder, "elsewhere");
        let policies = [folder.file("policy.toml"), copy];
        let making: Vec<_> = (0..6)
            .map(|index| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
                command.args(["ledger", "create", "--policy"]).arg(&policies[index % 2]);
                command
                    .stdout(std::process::Stdio::piped())
                    .stderr(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let outputs: Vec<_> =
            making.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let made = outputs.iter().filter(|output| output.status.code() == Some(0)).count();
        let refused = outputs.iter().filter(|output| output.status.code() == Some(2)).count();
        assert_eq!((made, refused), (1, 5), "round {round}: {outputs:?}");
        assert_eq!(folder.read(NOTES).lines().count(), 1, "round {round}");
    }
}

/// Nobody is refused because another was faster.
#[test]
fn of_several_first_questions_one_makes_the_ledger_and_all_are_answered() {
    for round in 0..6 {
        let folder = Folder::factory("first at once");
        let asking: Vec<_> = (0..6).map(|_| folder.spawn(&["query", "--fresh", SMOKERS])).collect();
        let outputs: Vec<_> =
            asking.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        assert!(outputs.iter().all(|output| output.status.success()), "round {round}: {outputs:?}");
        let made =
            outputs.iter().filter(|output| output.stderr.starts_with(b"A new ledger was created"));
        assert_eq!((made.count(), folder.spent()), (1, 1.5), "round {round}: {outputs:?}");
        assert_eq!(folder.read(NOTES).lines().count(), 1, "round {round}");
    }
}

/// Killed before every change that `ledger create` makes: then the ledger is there and is used, or
/// it can be made; and it is noted.
#[test]
fn killed_at_every_change_while_a_ledger_is_made() {
    let shims = Folder::new("shim");
    let shim = shims.file("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ledger/tests/faults/shim.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&shim)
        .arg(source)
        .arg("-ldl")
        .status();
    assert!(compiled.unwrap().success());
    for kind in ["kill-before", "torn"] {
        let (mut left, mut at) = ((0, 0), 0);
        loop {
            at += 1;
            let folder = careful("killed", "");
            let mark = shims.file("mark");
            let _ = std::fs::remove_file(&mark);
            let output = Command::new(env!("CARGO_BIN_EXE_reticent"))
                .args(["ledger", "create", "--policy"])
                .arg(folder.file("policy.toml"))
                .env("LD_PRELOAD", &shim)
                .env("FAULT_FOLDER", folder.file("").canonicalize().unwrap())
                .env("FAULT_KIND", kind)
                .env("FAULT_AT", at.to_string())
                .env("FAULT_MARK", &mark)
                .output()
                .unwrap();
            if !mark.exists() {
                assert!(output.status.success(), "{output:?}");
                break;
            }
            if folder.ledger().exists() {
                left.0 += 1;
            } else {
                left.1 += 1;
                folder.run(&["ledger", "create"]).done();
            }
            folder.run(&["ledger", "verify"]).done();
            folder.ask(SMOKERS);
            assert_eq!(folder.read(NOTES).lines().count(), 1, "{kind} at {at}");
        }
        assert!(left.0 > 0 && left.1 > 5, "{kind}: {left:?}");
    }
}
