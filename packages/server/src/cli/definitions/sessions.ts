import { list, type Registry, sessionArgument } from './registry.ts'

export function addSessionCommands(registry: Registry): void {
  addRun(registry)
  addAttach(registry)
  addReading(registry)
  addStopping(registry)
  addEditing(registry)
  addRewind(registry)
  addHandOff(registry)
  addImport(registry)
}

function addRun({ add, context, run }: Registry): void {
  add(
    'run',
    'send one prompt to an agent and show what it does',
    'parley run demo "show a permission"',
    'git diff | parley run demo - --json',
    'parley run demo "and now?" --session last',
  )
    .argument('<agent>', `the agent, e.g. demo; see: ${context.invocation} agents`)
    .argument('[prompt]', 'the prompt; if it is "-", or missing in a pipe, it is read from stdin')
    .option('--cwd <folder>', 'the folder to work in (default: the current folder)')
    .option('--model <model>', 'the model')
    .option('--mode <mode>', 'ask, accept-edits, read-only, plan or bypass (allow everything)')
    .option('--title <title>', 'the title of the new session')
    .option('--worktree', 'work in a new worktree of the repository, on a new branch')
    .option('--base <branch>', 'with --worktree: begin at this branch, not at the commit that is checked out')
    .option('--branch <branch>', 'with --worktree: the name of the new branch')
    .option('--trust', `trust the session's folder from now on; see: ${context.invocation} trust --help`)
    .addOption(
      list('--env <name>', "give the new session's agent this variable of your environment; repeatable"),
    )
    .option('--session <session>', 'continue this session: its id, a prefix of the id, or "last"')
    .option('--on-permission <what>', 'ask, deny or allow (default: ask on a terminal, else deny)')
    .option('--timeout <time>', 'stop the turn after this time, e.g. 90s or 5m')
    .option('--json', 'print every event as a line of JSON, and nothing else, to stdout')
    .option('--deltas', 'with --json: also print live deltas')
    .addHelpText(
      'after',
      `
The agent's text goes to stdout, everything else to stderr. Ctrl-C stops the turn; Ctrl-C twice exits at once.
Exit codes: 0 completed, 1 failed, 2 usage error, 3 outcome unknown, 130 cancelled (also by --timeout).
A denied permission is not a failure: the exit code is that of the turn.
If the agent cannot be started, the session and its prompt are kept, and the output says how to show the session and retry.`,
    )
    .action(run(async () => (await import('../commands/run.ts')).run))
}

function addAttach({ add, context, run }: Registry): void {
  add(
    'attach',
    'follow a session on the terminal, answer its requests and send prompts',
    'parley attach last',
  )
    .argument(...sessionArgument)
    .option('--tail <events>', 'the number of earlier events to show on attaching (default: 60)')
    .addHelpText(
      'after',
      `
A line you type is a prompt. Ctrl-C or Ctrl-D leaves the session, even during a question,
and neither stops the turn nor answers the question.
The session continues on the server. If no server runs, a running turn ends when you leave.
To stop the turn, run in another terminal: ${context.invocation} cancel <session>`,
    )
    .action(run(async () => (await import('../commands/attach.ts')).attach))
}

function addWorktrees({ add, under, run }: Registry): void {
  const load = () => import('../commands/worktrees.ts')
  const worktrees = add(
    'worktrees',
    'list the worktrees of sessions, remove and restore them, and fill their submodules',
    'parley worktrees',
    'parley worktrees remove last --delete-branch',
  )
    .option('--json', 'print one worktree per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action(run(async () => (await load()).listWorktrees))
  under(worktrees)(
    'remove',
    'save the worktree of a session, then delete its folder',
    'parley worktrees remove last',
  )
    .argument('<worktree>', 'the session, or the name of the folder of an orphan')
    .option('--delete-branch', 'delete the branch too')
    .option('--if-nothing-lost', 'remove only if everything that would be deleted also exists elsewhere')
    .option('--json', 'print the removed worktree as JSON')
    .action(run(async () => (await load()).removeWorktree))
  under(worktrees)('restore', 'restore a removed worktree', 'parley worktrees restore last')
    .argument(...sessionArgument)
    .option('--json', 'print the worktree as JSON')
    .action(run(async () => (await load()).restoreWorktree))
  under(worktrees)(
    'fill',
    'check out the submodules whose folders are empty (git submodule update --init)',
    'parley worktrees fill last',
  )
    .argument(...sessionArgument)
    .option('--json', 'print the event as JSON')
    .action(run(async () => (await load()).fillWorktree))
}

function addReading(registry: Registry): void {
  const { add, run } = registry
  add('sessions', 'list sessions', 'parley sessions --waiting', 'parley sessions --json | jq .id')
    .option('--waiting', 'list the open requests of all sessions instead of the sessions')
    .option('--all', 'include archived sessions')
    .option('--query <text>', 'only sessions with all these words in their title, folder or agent')
    .option('--agent <agent>', 'only sessions of this agent')
    .option('--project <project>', 'only sessions of this project: its name, a folder of it, or its id')
    .option('--status <status>', 'idle, working, waiting or parked')
    .option('--limit <number>', 'the maximum number of sessions (default: 50)')
    .option('--json', 'print one session (with --waiting: one request) per line, as JSON')
    .addHelpText(
      'after',
      `
Status: idle (nothing runs); failed or unknown (nothing runs, and the last turn had this outcome); working (a turn runs);
waiting (a turn waits for your answer); parked (a turn waits for your answer, and the agent's process is closed).
On a terminal, ids are shortened to a unique prefix.`,
    )
    .action(run(async () => (await import('../commands/sessions.ts')).sessions))
  add('projects', 'list projects: repositories, and folders without one', 'parley projects')
    .option('--json', 'print one project per line, as JSON')
    .action(run(async () => (await import('../commands/projects.ts')).projects))
  addWorktrees(registry)
  add(
    'search',
    'search the text of all sessions',
    'parley search migration table',
    'parley search "retry policy" --in prompt,answer',
  )
    .argument(
      '<words...>',
      'the words; an event must contain all of them, and the last one may be incomplete',
    )
    .option('--in <kinds>', 'prompt, answer, call or output; several separated by commas (default: all)')
    .option('--agent <agent>', 'only sessions of this agent')
    .option('--session <session>', 'only this session: its id, a prefix of the id, or "last"')
    .option('--folder <folder>', 'only sessions in this folder or below it')
    .option('--limit <number>', 'the maximum number of hits (default: 20)')
    .option('--json', 'print one hit per line, as JSON')
    .action(run(async () => (await import('../commands/search.ts')).search))
  add('show', 'show the state and the last blocks of a session', 'parley show last')
    .argument(...sessionArgument)
    .option('--tail <blocks>', 'the number of blocks (default: 50)')
    .option('--json', 'print the result as JSON')
    .action(run(async () => (await import('../commands/show.ts')).show))
  add(
    'export',
    'print a whole session, or write it to a file',
    'parley export last --as html -o session.html',
  )
    .argument(...sessionArgument)
    .option(
      '--as <format>',
      'jsonl, markdown, html, ui-messages, incoming-messages or run-events (default: jsonl)',
    )
    .option('-o, --output <file>', 'the file to write (default: stdout)')
    .option('--proof', 'with jsonl: seal the log first, and add the public keys for parley verify')
    .addHelpText(
      'after',
      `
jsonl is the log itself, one event per line; markdown and html are for reading. ui-messages are messages of the AI SDK;
incoming-messages and run-events are formats of other programs; see docs/chat.md.`,
    )
    .action(run(async () => (await import('../commands/export.ts')).exportSession))
}

function addStopping({ add, run }: Registry): void {
  add('cancel', 'stop the running turn of a session, and pause its queue', 'parley cancel last')
    .argument(...sessionArgument)
    .option('--tasks', 'stop its background tasks instead')
    .option('--json', 'print {"sessionId","paused"} as JSON')
    .action(run(async () => (await import('../commands/cancel.ts')).cancel))
  add('resume', 'run the prompts that were paused when a turn was stopped', 'parley resume last')
    .argument(...sessionArgument)
    .option('--json', 'print {"sessionId","resumed"} as JSON')
    .action(run(async () => (await import('../commands/cancel.ts')).resume))
  add(
    'release',
    "close a session's agent process, so that you can continue in the agent's own terminal program",
    'parley release last',
  )
    .argument(...sessionArgument)
    .option('--json', 'print {"sessionId","cwd","terminal"} as JSON')
    .action(run(async () => (await import('../commands/release.ts')).release))
  add('delete', 'delete a session and all its events', 'parley delete ses_01k2 --yes')
    .argument(...sessionArgument)
    .option('--yes', 'delete without confirmation')
    .option('--json', 'print {"sessionId"} as JSON')
    .action(run(async () => (await import('../commands/delete.ts')).deleteSession))
}

function addEditing({ add, run }: Registry): void {
  const load = () => import('../commands/edit-session.ts')
  const json = ['--json', 'print the session as JSON'] as const
  add('rename', 'change the title of a session', 'parley rename last "Fix the login"')
    .argument(...sessionArgument)
    .argument('<title>', 'the new title')
    .option(...json)
    .action(run(async () => (await load()).rename))
  add('archive', 'hide a session from the lists; it is kept', 'parley archive last')
    .argument(...sessionArgument)
    .option(...json)
    .action(run(async () => (await load()).archive))
  add('unarchive', 'show an archived session in the lists again', 'parley unarchive ses_01k2')
    .argument(...sessionArgument)
    .option(...json)
    .action(run(async () => (await load()).unarchive))
  add('pin', 'keep a session at the top of the lists, and exclude it from retention', 'parley pin last')
    .argument(...sessionArgument)
    .option(...json)
    .action(run(async () => (await load()).pin))
  add(
    'unpin',
    'show a pinned session in its usual place, and include it in retention again',
    'parley unpin last',
  )
    .argument(...sessionArgument)
    .option(...json)
    .action(run(async () => (await load()).unpin))
  add(
    'fork',
    'create a session that continues from the current state of another, or from an earlier prompt',
    'parley fork last --title "Other way"',
    'parley fork last --before prm_01k2… --worktree',
  )
    .argument(...sessionArgument)
    .option('--before <prompt>', 'fork from the state before this prompt; its id is in show --json')
    .option('--title <title>', 'the title of the fork')
    .option('--worktree', 'work in a new worktree, with the files as they were at that point of the session')
    .option('--branch <branch>', 'with --worktree: the name of the new branch')
    .option(...json)
    .action(run(async () => (await load()).fork))
}

function addRewind({ add, run }: Registry): void {
  const load = () => import('../commands/rewind.ts')
  add(
    'rewind',
    'restore the files of a session to their state before a prompt; with --talk, the conversation too',
    'parley rewind last prm_01k2… --preview',
    'parley rewind last last',
    'parley rewind last prm_01k2… --talk',
    'parley rewind last prm_01k2… src/main.ts',
  )
    .argument(...sessionArgument)
    .argument('<prompt>', 'the id of the prompt (see show --json), or "last"')
    .argument('[files...]', 'restore only these files, even if somebody changed them since')
    .option('--talk', 'also rewind the conversation: the agent forgets the prompt and everything after it')
    .option('--no-files', 'with --talk: restore no files')
    .option('--preview', 'print the files that would be restored, and change nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Only files that turns since the prompt changed are restored. A file that somebody else
changed since is left alone, unless you name it. HEAD, branches and the index do not change.`,
    )
    .action(run(async () => (await load()).rewind))
  add('unrewind', 'undo the last rewind of a session, until its next turn', 'parley unrewind last')
    .argument(...sessionArgument)
    .option('--json', 'print the result as JSON')
    .action(run(async () => (await load()).unrewind))
}

function addHandOff({ add, context, run }: Registry): void {
  add(
    'hand-off',
    'create a session of another agent that continues the work of a session',
    'parley hand-off last codex',
    'parley hand-off last codex "Fix the failing test"',
    'parley hand-off last codex --show',
  )
    .argument(...sessionArgument)
    .argument('<agent>', `the agent that continues; see: ${context.invocation} agents`)
    .argument('[prompt]', 'the first prompt (default: continue the work)')
    .option('--before <prompt>', 'hand over only the part of the session before this prompt, named by its id')
    .option('--model <model>', 'the model')
    .option('--show', 'print the text that the agent would get, and create nothing')
    .option('--json', 'print the session, or with --show the text and its size, as JSON')
    .addHelpText(
      'after',
      `
The first prompt of the new session contains the facts and the conversation of the earlier one.
If they are too long for the agent, the oldest turns are shortened first.`,
    )
    .action(run(async () => (await import('../commands/hand-off.ts')).handOff))
}

function addImport({ add, run }: Registry): void {
  add(
    'import',
    "continue a conversation from an agent's own history",
    'parley import claude',
    'parley import claude --cwd ~/code/app',
    'parley import claude 4f2b8a1e-…',
  )
    .argument('<agent>', 'the agent')
    .argument('[id]', 'the conversation to import; without it, conversations are listed')
    .option('--cwd <folder>', 'only conversations of this folder')
    .option('--json', 'print one conversation per line, or the session, as JSON')
    .action(run(async () => (await import('../commands/import.ts')).importConversation))
}
