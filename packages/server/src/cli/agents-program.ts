import type { Command } from 'commander'
import type { Context } from './context.ts'
import type { Add, Finish } from './program.ts'

/** The commands about agents, and their options. */

export const agentVerbs = ['install', 'update', 'remove', 'add', 'forget', 'key', 'doctor']
const into = ['--into <folder>', 'another folder than "agents" in the data folder'] as const

export function addAgents(
  addToProgram: Add,
  adder: (parent: Command) => Add,
  context: Context,
  finish: Finish,
): void {
  const agents = addToProgram(
    'agents',
    'list the agents, and what each one needs; install, update, remove and check them',
    'parley agents',
    'parley agents install codex',
    'parley agents doctor codex',
  )
    .option('--json', 'one agent a line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action((options) =>
      finish(import('./commands/agents.ts').then(({ agents: listAgents }) => listAgents(options, context))),
    )
  const add = adder(agents)
  const load = () => import('./commands/agents-install.ts')
  add(
    'install',
    'install agents from npm, at the versions that Parley is tested with',
    'parley agents install codex',
  )
    .argument('<agents...>', 'which ones')
    .option('--latest', 'the latest version instead; not tested with this Parley')
    .option('--version <version>', 'this version instead; not tested with this Parley')
    .option('--wait', 'if it is being installed by another command, wait for that')
    .option(...into)
    .option('--json', 'one agent a line, as JSON')
    .addHelpText(
      'after',
      `
Each agent gets a folder of its own. A new version is made beside the old one, tried, and put in its place: what fails
or is stopped with Ctrl-C leaves what was there. npm's own settings hold (registry, proxy, .npmrc).`,
    )
    .action((ids, options) =>
      finish(load().then(({ installAgents }) => installAgents(ids, options, context))),
    )
  add(
    'update',
    'bring installed agents to the versions that Parley is tested with',
    'parley agents update',
    'parley agents update codex --latest',
  )
    .argument('[agents...]', 'which ones (default: all that Parley has installed)')
    .option('--latest', 'to the latest version instead; not tested with this Parley')
    .option('--version <version>', 'to this version instead; not tested with this Parley')
    .option(...into)
    .option('--json', 'one agent a line, as JSON')
    .action((ids, options) => finish(load().then(({ updateAgents }) => updateAgents(ids, options, context))))
  add('remove', 'remove agents that Parley has installed', 'parley agents remove codex')
    .argument('<agents...>', 'which ones')
    .option(...into)
    .option('--json', 'one agent a line, as JSON')
    .action((ids, options) => finish(load().then(({ removeAgents }) => removeAgents(ids, options, context))))
  addAgentSetup(add, context, finish)
  addAgentDoctor(add, context, finish)
}

function addAgentSetup(add: Add, context: Context, finish: Finish): void {
  const load = () => import('./commands/agents-setup.ts')
  add(
    'add',
    'add a program of your own that speaks the Agent Client Protocol',
    'parley agents add mine --command my-agent -- --acp',
  )
    .argument('<id>', 'what to call it: small letters, digits and dashes')
    .argument('[args...]', 'its arguments, behind --')
    .requiredOption('--command <program>', 'the program: a whole path, or a name on the PATH')
    .option('--name <name>', 'how people read it (default: its id)')
    .option('--json', 'the agent, as JSON')
    .addHelpText(
      'after',
      '\nIt is kept in config.json, and runs as you, on this machine, whenever a session of it is used.',
    )
    .action((id, args, options) =>
      finish(load().then(({ addAgent }) => addAgent(id, args, options, context))),
    )
  add('forget', 'take away an agent that you added', 'parley agents forget mine')
    .argument('<id>', 'which one')
    .option('--json', 'as JSON')
    .action((id, options) => finish(load().then(({ forgetAgent }) => forgetAgent(id, options, context))))
  add(
    'key',
    'set the key that an agent signs in with',
    'parley agents key claude',
    'parley agents key gemini --remove',
  )
    .argument('<id>', 'which agent')
    .option('--variable <name>', 'which of its keys (default: the usual one)')
    .option('--remove', 'remove it')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
The key is read from stdin; on a terminal it is asked for and not shown. It is kept in config.json, readable by you only,
and no command or reply shows it.`,
    )
    .action((id, options) => finish(load().then(({ agentKey }) => agentKey(id, options, context))))
}

function addAgentDoctor(add: Add, context: Context, finish: Finish): void {
  add(
    'doctor',
    'start an agent, speak to it, and say what is wrong; exit code 1 if something fails',
    'parley agents doctor codex',
    'parley agents doctor codex --prompt "Say hello"',
  )
    .argument('<agent>', 'which one')
    .option('--timeout <time>', 'how long it may take to start, and to answer (default: 60s)')
    .option('--prompt <text>', 'send it this too, which its model answers; it may do nothing')
    .option(...into)
    .option('--json', 'one check a line, as JSON')
    .action((id, options) =>
      finish(
        import('./commands/agents-doctor.ts').then(({ agentDoctor }) => agentDoctor(id, options, context)),
      ),
    )
}
