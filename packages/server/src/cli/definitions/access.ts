import { type Command, Option } from 'commander'
import { list, type Registry } from './registry.ts'

/** The commands for people, browsers and tokens. */
export function addAccessCommands(registry: Registry): void {
  addPeople(registry)
  addPair(registry)
  addDevices(registry)
  addToken(registry)
  addWhoami(registry)
}

function addPeople(registry: Registry): void {
  const { add: addToProgram, under, run } = registry
  const load = () => import('../commands/people.ts')
  const people = addToProgram(
    'people',
    'list the people who use this server; invite people and change their roles',
    'parley people',
    'parley people invite --role member --name Ana',
    'parley people role Ana approver',
  )
    .option('--json', 'print one person per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Roles: a viewer reads; a member also sends prompts; an approver also answers requests; an admin may do everything.`,
    )
    .action(run(async () => (await load()).listPeople))
  addInvites(people, registry)
  const add = under(people)
  const person = ['<person>', 'the name, the id, or the beginning of the id'] as const
  const json = ['--json', 'print the person as JSON'] as const
  add('role', 'change the role of a person', 'parley people role Ana approver')
    .argument(...person)
    .argument('<role>', 'viewer, member, approver or admin')
    .option(...json)
    .action(run(async () => (await load()).changeRole))
  add('rename', 'change the name of a person', 'parley people rename Ana "Ana B."')
    .argument(...person)
    .argument('<name>', 'the new name')
    .option(...json)
    .action(run(async () => (await load()).renamePerson))
  add('disable', 'refuse the browsers and tokens of a person, at once', 'parley people disable Ana')
    .argument(...person)
    .option(...json)
    .action(run(async () => (await load()).disablePerson))
  add('enable', 'accept the browsers and tokens of a disabled person again', 'parley people enable Ana')
    .argument(...person)
    .option(...json)
    .action(run(async () => (await load()).enablePerson))
}

function addInvites(people: Command, { under, run }: Registry): void {
  const load = () => import('../commands/people.ts')
  const add = under(people)
  add(
    'invite',
    'print a link that signs in the first browser of a new person, once',
    'parley people invite --role member',
    'parley people invite --role viewer --name Ana --expires 1d',
  )
    .requiredOption('--role <role>', 'viewer, member, approver or admin')
    .option('--name <name>', 'a label for the invitation; the person chooses the name that others see')
    .option('--expires <time>', 'how long the link is valid, such as 12h or 30d (default: 7d)')
    .option('--json', 'print the invitation with its link as JSON')
    .action(run(async () => (await load()).invite))
  add('invites', 'list the open invitations', 'parley people invites')
    .option('--json', 'print one invitation per line, as JSON')
    .action(run(async () => (await load()).listInvites))
  add('withdraw', 'withdraw an open invitation', 'parley people withdraw inv_01k2')
    .argument('<invitation>', 'the id of the invitation, the beginning of the id, or the name')
    .option('--json', 'print the invitation as JSON')
    .action(run(async () => (await load()).withdrawInvite))
}

function addPair({ add, run }: Registry): void {
  add(
    'pair',
    'sign a phone or another browser in: prints a QR code and a code to type',
    'parley pair',
    'parley pair --as viewer --name "kitchen tablet"',
    'parley pair --tailscale',
  )
    .addOption(
      new Option('--as <role>', 'what the device may do (default: what you may do)').choices([
        'viewer',
        'member',
        'approver',
        'admin',
      ]),
    )
    .option('--name <name>', 'the name of the device (default: its browser and operating system)')
    .option('--url <url>', 'use this address of the running server from now on, until it is restarted')
    .option('--tailscale', 'let the other machines of your tailnet reach the server, with tailscale serve')
    .option('--json', 'print {"code","url","expiresAt","scopes"} as JSON')
    .addHelpText(
      'after',
      `
The code is valid for ten minutes and signs one device in. Scan the QR code, or open the page /pair of the server and
type the code. A phone cannot reach 127.0.0.1: see docs/operations.md for the ways to make the server reachable.`,
    )
    .action(run(async () => (await import('../commands/pair.ts')).pair))
}

function addDevices({ add, under, run }: Registry): void {
  const load = () => import('../commands/devices.ts')
  const devices = add(
    'devices',
    'list signed-in browsers, and sign them out',
    'parley devices',
    'parley devices revoke dev_01k2',
  )
    .option('--json', 'print one browser per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action(run(async () => (await load()).listDevices))
  under(devices)(
    'revoke',
    'sign a browser out: its pages are closed at once, and it needs a new link',
    'parley devices revoke dev_01k2',
    'parley devices revoke --all',
  )
    .argument('[device]', 'the id of the browser, the beginning of the id, or the name')
    .option('--all', 'sign out every browser')
    .option('--json', 'print each browser that was signed out as JSON')
    .action(run(async () => (await load()).revokeDevices))
}

function addToken({ add, under, run }: Registry): void {
  const load = () => import('../commands/named-tokens.ts')
  const token = add(
    'token',
    'print the token of this machine; create, list and revoke named tokens',
    'parley token --link',
    'parley token create ci --scope read,prompt --folder . --expires 30d',
    'curl -H "Authorization: Bearer $(parley token)" http://127.0.0.1:4747/api/sessions',
  )
    .option('--link', 'print a new one-time sign-in link for the running server instead')
    .option('--rotate', 'generate a new token of this machine; a running server must be restarted')
    .option('--json', 'print {"token"}, or with --link {"url"}, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action(run(async () => (await import('../commands/token.ts')).token))
  addTokenCreate(token, { under, run })
  const more = under(token)
  more('list', 'list named tokens, without their secrets', 'parley token list')
    .option('--json', 'print one token per line, as JSON')
    .action(run(async () => (await load()).listTokens))
  more(
    'revoke',
    'revoke a named token: it is refused, and its connections are closed at once',
    'parley token revoke ci',
  )
    .argument('<token>', 'the name of the token, its id, or the beginning of the id')
    .option('--json', 'print the revoked token as JSON')
    .action(run(async () => (await load()).revokeToken))
}

function addTokenCreate(token: Command, { under, run }: Pick<Registry, 'under' | 'run'>): void {
  under(token)(
    'create',
    'create a named token with scopes, limits and an expiry time, and print it once',
    'parley token create ci --scope read,prompt --folder . --expires 30d',
    'PARLEY_TOKEN=$(parley token create reader) parley sessions',
  )
    .argument('<name>', 'a name, by which people recognise the token')
    .addOption(
      list(
        '--scope <scopes>',
        'read, prompt, decide, terminal, admin; separated by commas, repeatable (default: read)',
      ),
    )
    .addOption(
      list('--folder <folder>', 'only sessions in this folder and the folders inside it; repeatable'),
    )
    .addOption(list('--agent <agent>', 'only sessions of this agent; repeatable'))
    .addOption(
      list('--session <session>', 'only this session: its id, a prefix of the id, or "last"; repeatable'),
    )
    .option(
      '--expires <time>',
      'how long the token is valid, such as 12h, 30d or 1y (default: it does not expire)',
    )
    .option('--json', 'print the token with its secret as JSON')
    .addHelpText(
      'after',
      `
Scopes: read sessions; send prompts and stop work; decide requests and choose settings that widen what agents may do;
open terminals; admin changes rules, trusted folders, agents and people. A token has at most the scopes of the person.
Only the secret is printed to stdout.`,
    )
    .action(run(async () => (await import('../commands/named-tokens.ts')).createToken))
}

function addWhoami({ add, run }: Registry): void {
  add(
    'whoami',
    'show the person and the token that commands use, with scopes and limits',
    'parley whoami',
    'PARLEY_TOKEN=prly_… parley whoami',
  )
    .option('--json', 'print the result as JSON')
    .action(run(async () => (await import('../commands/whoami.ts')).whoami))
}
