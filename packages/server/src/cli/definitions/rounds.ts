import { type Registry, sessionArgument } from './registry.ts'

const roundArgument = ['<round>', 'the id of the round, a prefix of it, or "last"'] as const

export function addRoundCommands(registry: Registry): void {
  addRound(registry)
  addRounds(registry)
  addCheck(registry)
}

function addRound({ add, run }: Registry): void {
  add(
    'round',
    'give one prompt to several agents, each in a worktree of its own, and wait for all of them',
    'parley round "Make the parser accept empty files" --agents claude,codex',
    'parley round "Add a test" --agents claude:opus,claude:sonnet --base main --check',
  )
    .argument('[prompt]', 'the prompt; if it is "-", or missing in a pipe, it is read from stdin')
    .requiredOption(
      '--agents <agents>',
      'two to five agents, separated by commas, each with an optional model: claude:opus,codex',
    )
    .option('--cwd <folder>', 'a folder in the repository to work in (default: the current folder)')
    .option('--base <branch>', 'begin at this branch, not at the commit that is checked out')
    .option('--mode <mode>', 'ask, accept-edits, read-only, plan or bypass (allow everything)')
    .option('--title <title>', 'the title of the sessions')
    .option('--trust', 'trust the folder from now on')
    .option('--check', 'run the check of the project in each attempt that is done')
    .option('--json', 'print the finished round as JSON')
    .addHelpText(
      'after',
      `
Changes of the attempts go to stderr, the comparison at the end to stdout. Ctrl-C leaves the round, which continues in the
server. Without a server, the round ends with this command.
Exit codes: 0 an attempt is done, 1 no attempt is done, 2 usage error, 130 interrupted with Ctrl-C.`,
    )
    .action(run(async () => (await import('../commands/round.ts')).round))
}

function addRounds({ add, under, run }: Registry): void {
  const load = () => import('../commands/rounds.ts')
  const rounds = add('rounds', 'list rounds, compare their attempts, and pick one', 'parley rounds')
    .option('--project <project>', 'only rounds of this project: its name, a folder of it, or its id')
    .option('--limit <number>', 'the maximum number of rounds (default: 20)')
    .option('--json', 'print one round per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action(run(async () => (await load()).listRounds))
  under(rounds)('show', 'compare the attempts of a round', 'parley rounds show last')
    .argument(...roundArgument)
    .option('--json', 'print the round as JSON')
    .action(run(async () => (await load()).showRound))
  under(rounds)(
    'pick',
    'pick an attempt; the others are stopped, and their worktrees are saved and removed',
    'parley rounds pick last 2',
  )
    .argument(...roundArgument)
    .argument('<attempt>', 'the number of the attempt')
    .option('--json', 'print the round as JSON')
    .action(run(async () => (await load()).pickAttempt))
}

function addCheck({ add, run }: Registry): void {
  add('check', "run the check command of a session's project, and show its output", 'parley check last')
    .argument(...sessionArgument)
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Exit codes: 0 the check passed, 1 it failed, 3 it did not end, 130 stopped (Ctrl-C).`,
    )
    .action(run(async () => (await import('../commands/check.ts')).check))
}
