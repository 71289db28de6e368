import type { Registry } from './registry.ts'

const into = ['--into <folder>', 'the folder to use instead of "agents" in the data folder'] as const

export function addAgentCommands({ add: addToProgram, under, run }: Registry): void {
  const agents = addToProgram(
    'agents',
    'list agents and what each one needs; install, update, remove and check them',
    'parley agents',
    'parley agents install codex',
    'parley agents doctor codex',
  )
    .option('--capabilities', 'print which capabilities each agent that was found has')
    .option('--json', 'print one agent per line, as JSON, and one adapter that was not loaded per line')
    .enablePositionalOptions()
    .helpCommand(false)
    .action(run(async () => (await import('../commands/agents.ts')).agents))
  const add = under(agents)
  const registry = { add, run }
  const load = () => import('../commands/agents-install.ts')
  add(
    'install',
    'install agents from npm, at the versions that Parley is tested with',
    'parley agents install codex',
  )
    .argument('<agents...>', 'the agents')
    .option('--latest', 'install the latest version, which may not be tested with this version of Parley')
    .option('--version <version>', 'this version, which may not be tested with this version of Parley')
    .option('--wait', 'wait if another command is installing the agent')
    .option('--with-program', 'install the program of Claude Code even if there is a claude on the PATH')
    .option(...into)
    .option('--json', 'print one agent per line, as JSON')
    .addHelpText(
      'after',
      `
Each agent gets its own folder. A new version is installed beside the old one and tested before it replaces the old one: an
installation that fails or is stopped with Ctrl-C changes nothing. npm's own settings apply (registry, proxy, .npmrc).`,
    )
    .action(run(async () => (await load()).installAgents))
  add(
    'update',
    'update installed agents to the versions that Parley is tested with',
    'parley agents update',
    'parley agents update codex --latest',
  )
    .argument('[agents...]', 'the agents (default: all that Parley has installed)')
    .option('--latest', 'update to the latest version, which may not be tested with this version of Parley')
    .option('--version <version>', 'to this version, which may not be tested with this version of Parley')
    .option(...into)
    .option('--json', 'print one agent per line, as JSON')
    .action(run(async () => (await load()).updateAgents))
  add('remove', 'remove agents that Parley has installed', 'parley agents remove codex')
    .argument('<agents...>', 'the agents')
    .option(...into)
    .option('--json', 'print one agent per line, as JSON')
    .action(run(async () => (await load()).removeAgents))
  addAgentSetup(registry)
  addAgentDoctor(registry)
}

function addAgentSetup({ add, run }: Pick<Registry, 'add' | 'run'>): void {
  const load = () => import('../commands/agents-setup.ts')
  add(
    'add',
    'add a program of your own that speaks the Agent Client Protocol',
    'parley agents add mine --command my-agent -- --acp',
  )
    .argument('<id>', 'the id of the agent: lower-case letters, digits and dashes')
    .argument('[args...]', 'the arguments of the program, after --')
    .requiredOption('--command <program>', 'the program: an absolute path, or a name on the PATH')
    .option('--name <name>', 'the display name of the agent (default: the id)')
    .option('--json', 'print the agent as JSON')
    .addHelpText(
      'after',
      '\nThe agent is stored in config.json. Its program runs as you, on this machine, in every session with this agent.',
    )
    .action(run(async () => (await load()).addAgent))
  add('forget', 'remove an agent that you added', 'parley agents forget mine')
    .argument('<id>', 'the agent')
    .option('--json', 'print the result as JSON')
    .action(run(async () => (await load()).forgetAgent))
  add(
    'key',
    'set the key that an agent signs in with',
    'parley agents key claude',
    'parley agents key gemini --remove',
  )
    .argument('<id>', 'the agent')
    .option('--variable <name>', 'the variable that holds the key (default: the first one of the agent)')
    .option('--remove', 'remove the key')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
The key is read from stdin; a terminal prompts for it without showing it. It is stored in config.json, readable only by
you, and no command or reply shows it.`,
    )
    .action(run(async () => (await load()).agentKey))
}

function addAgentDoctor({ add, run }: Pick<Registry, 'add' | 'run'>): void {
  add(
    'doctor',
    'start an agent, exchange messages with it, and report problems; exit code 1 if something fails',
    'parley agents doctor codex',
    'parley agents doctor codex --prompt "Say hello"',
  )
    .argument('<agent>', 'the agent')
    .option('--timeout <time>', 'how long the agent may take to start, and to answer (default: 60s)')
    .option('--prompt <text>', 'also send this prompt to its model; permission requests are denied')
    .option(...into)
    .option('--json', 'print one check per line, as JSON')
    .action(run(async () => (await import('../commands/agents-doctor.ts')).agentDoctor))
}
