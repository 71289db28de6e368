import { list, type Registry, sessionArgument } from './registry.ts'

/** The commands for rules, trusted folders, environment variables of agents and decision links. */
export function addPermissionCommands(registry: Registry): void {
  addRules(registry)
  addTrust(registry)
  addEnv(registry)
  addLink(registry)
}

function addRules({ add: addToProgram, under, run }: Registry): void {
  const load = () => import('../commands/rules.ts')
  const rules = addToProgram(
    'rules',
    'list, add and remove standing permission rules',
    'parley rules',
    'parley rules add deny Bash --match "command=rm *"',
    'parley rules remove rul_01k2',
  )
    .option('--json', 'print one rule per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action(run(async () => (await load()).listRules))
  const add = under(rules)
  add(
    'add',
    'add a rule for all sessions, or for the sessions of one project or folder',
    'parley rules add allow Bash --match "command=npm test" --folder .',
    'parley rules add disable WebFetch --agent claude',
  )
    .argument('<decision>', 'allow, ask, deny or disable')
    .argument('<tool>', 'the name of the tool, or "*" for every tool')
    .addOption(
      list(
        '--match <field=pattern>',
        "a field of the tool's input and a pattern (* matches anything); repeatable",
      ),
    )
    .option(
      '--folder <folder>',
      'only in this folder; the top folder of a repository means the whole project',
    )
    .option('--agent <agent>', 'only for this agent')
    .option('--json', 'print the rule as JSON')
    .action(run(async () => (await load()).addRule))
  add('remove', 'remove a rule', 'parley rules remove rul_01k2')
    .argument('<rule>', 'the id of the rule, or a prefix of the id')
    .option('--json', 'print the removed rule as JSON')
    .action(run(async () => (await load()).removeRule))
}

function addTrust({ add, run }: Registry): void {
  add(
    'trust',
    "let agents load a folder's settings, hooks and MCP servers",
    'parley trust .',
    'parley trust ~/code/app',
    'parley trust --list',
    'parley trust --remove ~/code/app',
  )
    .argument('[folder]', 'the folder; all folders inside it are included')
    .option('--list', 'list the trusted folders')
    .option('--remove', 'revoke the trust of the folder')
    .option('--json', 'print one folder per line, as JSON')
    .addHelpText(
      'after',
      `
Until a folder is trusted, agents work in it with your own settings only. A decision takes effect when an
agent next starts: an idle agent restarts with its next prompt, a running turn continues as it is.`,
    )
    .action(run(async () => (await import('../commands/trust.ts')).trust))
}

function addEnv({ add, run }: Registry): void {
  add(
    'env',
    'set environment variables for agents: in a folder and all folders inside it, or in one session',
    'parley env',
    'parley env GITHUB_TOKEN --folder ~/code/app',
    'parley env NPM_TOKEN --inherit',
    'parley env GITHUB_TOKEN --remove',
  )
    .argument('[name]', 'the variable; without it, variables are listed (with --remove: all are removed)')
    .option(
      '--folder <folder>',
      'for the agents of all sessions in this folder (default: the current folder)',
    )
    .option('--session <session>', 'for the agent of this session: its id, a prefix of the id, or "last"')
    .option('--inherit', 'take the value from this environment, not from stdin')
    .option('--remove', 'remove the variable')
    .option('--json', 'print one session or folder per line, as JSON')
    .addHelpText(
      'after',
      `
The value is read from stdin; a terminal prompts for it without showing it. It is stored in the data folder and passed
to agents only: no command, reply or export shows it. Variables that Parley depends on (PATH, HOME, NODE_OPTIONS, …) are refused.`,
    )
    .action(run(async () => (await import('../commands/env.ts')).env))
}

function addLink({ add, under, run }: Registry): void {
  const load = () => import('../commands/link.ts')
  const link = add(
    'link',
    'print a link with which somebody decides one permission request, once, without signing in',
    'parley link last',
    'parley link last --allow --expires 15m --name "for Ana"',
    'parley link list',
  )
    .argument(...sessionArgument)
    .argument(
      '[request]',
      'the id of the request, or the beginning of the id (default: the only open request)',
    )
    .option('--allow', 'let the link also allow the call; the server must run with decideByLink: allow')
    .option('--expires <time>', 'how long the link works, such as 15m; at most 24h (default: 1h)')
    .option('--name <name>', 'the name of the link, which the log shows beside the decision: "for Ana"')
    .option('--json', 'print the link with its URL as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Whoever has the link sees the request with its whole input, and can decide this one call. The link ends when it is used,
when it expires, when the request is answered elsewhere, and when you may no longer decide. Only the URL is printed to stdout.`,
    )
    .action(run(async () => (await load()).createLink))
  const more = under(link)
  more('list', 'list the links that can still decide a request, without their URLs', 'parley link list')
    .option('--json', 'print one link per line, as JSON')
    .action(run(async () => (await load()).listLinks))
  more('revoke', 'revoke a link, which then cannot decide anything', 'parley link revoke lnk_01k2')
    .argument('<link>', 'the id of the link, the beginning of the id, or the name')
    .option('--json', 'print the revoked link as JSON')
    .action(run(async () => (await load()).revokeLink))
}
