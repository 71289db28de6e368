import { Option } from 'commander'
import { type Registry, sessionArgument } from './registry.ts'

const json = ['--json', 'print the result as JSON'] as const

/** The commands for the changes of a session's folder. */
export function addChangeCommands({ add, run }: Registry): void {
  const load = () => import('../commands/changes.ts')
  add(
    'changes',
    "list the changed files in a session's folder",
    'parley changes last',
    'parley changes last --scope turn',
  )
    .argument(...sessionArgument)
    .addOption(
      new Option('--scope <scope>', 'the earlier state to compare with')
        .choices(['turn', 'session', 'commit', 'base'])
        .default('commit'),
    )
    .option('--json', 'print one file per line, as JSON')
    .action(run(async () => (await load()).changes))
  add('discard', 'discard the changes of files since the last commit', 'parley discard last src/a.ts')
    .argument(...sessionArgument)
    .argument('[paths...]', "changed files, relative to the session's folder")
    .option('--undo <seq>', 'undo the discard with this number instead')
    .option(...json)
    .action(run(async () => (await load()).discard))
  add(
    'commit',
    "commit changed files in a session's folder",
    'parley commit last -m "Fix the parser"',
    'parley commit last src/a.ts',
  )
    .argument(...sessionArgument)
    .argument('[paths...]', "changed files, relative to the session's folder (default: all)")
    .option('-m, --message <text>', 'the message (default: the title of the session)')
    .option('--suggest', 'print the message that the agent suggests, and commit nothing')
    .option('--staged', 'commit the staged changes')
    .option('--no-verify', 'do not run the hooks that check the commit')
    .option(...json)
    .action(run(async () => (await load()).commit))
}

/** The commands that push a branch, merge it and open its pull request. */
export function addBranchCommands({ add, run }: Registry): void {
  const load = () => import('../commands/changes.ts')
  add('push', "push the branch of a session's folder, never to a base branch", 'parley push last')
    .argument(...sessionArgument)
    .option('--replace', 'replace the remote branch if it has not changed since the last fetch')
    .option(...json)
    .action(run(async () => (await load()).push))
  add(
    'merge',
    "merge the branch of a session's folder into the base branch, on this machine",
    'parley merge last --preview',
    'parley merge last --squash -m "Fix the parser"',
  )
    .argument(...sessionArgument)
    .option('--preview', 'print a preview of the merge, and change nothing')
    .option('--squash', 'make one commit of all changes')
    .option('-m, --message <text>', 'the message of the new commit')
    .option(...json)
    .action(run(async () => (await load()).merge))
  add(
    'pr',
    "show the pull request of a session's branch with its checks and comments, or open one",
    'parley pr last',
    'parley pr last --open --draft',
  )
    .argument(...sessionArgument)
    .option('--open', 'open a pull request, unless there is an open one')
    .option('--logs', 'show the ends of the logs of the failed checks')
    .option('--title <title>', 'with --open: the title (default: the title of the session)')
    .option('--body <text>', 'with --open: the text')
    .option('--draft', 'with --open: open it as a draft')
    .option(...json)
    .action(run(async () => (await load()).pullRequest))
}
