import type { Client } from '@parley/client'
import {
  allRoles,
  defined,
  type Invite,
  ParleyError,
  type Person,
  type PersonPatch,
  Role,
} from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText, parseLifetime } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { nearest } from '../nearest.ts'
import { referredTo } from '../reference.ts'
import { expiryText } from '../rights-text.ts'
import { printResult } from '../terminal/output.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type PeopleOptions = Flags & { readonly json?: boolean }
export type InviteOptions = PeopleOptions & {
  readonly role: string
  readonly name?: string
  readonly expires?: string
}

const peopleColumns = [
  { name: 'ID' },
  { name: 'NAME', shrinks: true },
  { name: 'ROLE' },
  { name: 'STATE' },
  { name: 'SINCE' },
]

export async function listPeople(options: PeopleOptions, context: Context): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const people = await server.client.access.people()
  const row = ({ personId, name, role, createdAt, disabledAt, current }: Person) => [
    personId,
    current ? `${name} (you)` : name,
    role,
    disabledAt === undefined ? 'active' : 'disabled',
    ageText(Date.now() - createdAt),
  ]
  const list = { columns: peopleColumns, row, empty: 'Nobody uses this server.' }
  printList(people, list, { json: options.json, output: context.output })
  return 0
}

/** Creates an invitation. stdout gets only its link, which is not shown again; a terminal also shows a QR code. */
export async function invite(options: InviteOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  const { name, expires, json } = options
  const role = roleOf(options.role)
  const lifetimeMs = expires === undefined ? undefined : parseLifetime(expires, '--expires')
  await using server = await connect(existingConfigurationOf(context, options), context)
  const invited = await server.client.access.invite({ role, ...defined({ name, lifetimeMs }) })
  if (json) {
    output.out(`${JSON.stringify(invited)}\n`)
    return 0
  }
  const withdraw = commandLine(`people withdraw ${invited.inviteId}`)
  const about = `The link signs in the first browser of a new ${role}, once. It expires ${expiryText(invited.expiresAt)}. To withdraw it: ${withdraw}`
  if (output.isOutTerminal) {
    const { qrLines } = await import('../qr-code.ts')
    const isColoured = output.errStyle.bold('.') !== '.'
    output.err(`${qrLines(invited.url, { isColoured }).join('\n')}\n`)
  }
  output.out(`${invited.url}\n`)
  output.err(`${output.errStyle.dim(about)}\n`)
  return 0
}

const inviteColumns = [{ name: 'ID' }, { name: 'NAME', shrinks: true }, { name: 'ROLE' }, { name: 'EXPIRES' }]

export async function listInvites(options: PeopleOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const invites = await server.client.access.invites()
  const row = ({ inviteId, name = '-', role, expiresAt }: Invite) => [
    inviteId,
    name,
    role,
    expiryText(expiresAt),
  ]
  const empty = `No open invitations. Invite a person: ${commandLine('people invite --role member')}`
  printList(invites, { columns: inviteColumns, row, empty }, { json: options.json, output })
  return 0
}

export async function withdrawInvite(
  reference: string,
  options: PeopleOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const found = referredTo(await server.client.access.invites(), reference, {
    one: 'open invitation',
    many: 'open invitations',
    id: ({ inviteId }) => inviteId,
    name: ({ name = '' }) => name,
    list: context.commandLine('people invites'),
  })
  await server.client.access.withdrawInvite(found.inviteId)
  const text = `Withdrew the invitation ${found.inviteId}.`
  return printResult(context.output, options.json, { value: found, text })
}

export async function changeRole(
  reference: string,
  given: string,
  options: PeopleOptions,
  context: Context,
): Promise<number> {
  const role = roleOf(given)
  return change(reference, { role }, options, context)
}

export function renamePerson(reference: string, name: string, options: PeopleOptions, context: Context) {
  return change(reference, { name }, options, context)
}

export function disablePerson(reference: string, options: PeopleOptions, context: Context) {
  return change(reference, { disabled: true }, options, context)
}

export function enablePerson(reference: string, options: PeopleOptions, context: Context) {
  return change(reference, { disabled: false }, options, context)
}

async function change(
  reference: string,
  patch: PersonPatch,
  options: PeopleOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const before = await findPerson(server.client, reference, context)
  const person = await server.client.access.updatePerson(before.personId, patch)
  const text = changeText(before, patch)
  return printResult(context.output, options.json, { value: person, text })
}

async function findPerson(client: Client, reference: string, { commandLine }: Context): Promise<Person> {
  return referredTo(await client.access.people(), reference, {
    one: 'person',
    many: 'people',
    id: ({ personId }) => personId,
    name: ({ name }) => name,
    list: commandLine('people'),
  })
}

function changeText(before: Person, { role, name, disabled }: PersonPatch): string {
  const who = oneLine(before.name)
  if (role !== undefined)
    return `${who} is now ${role === 'viewer' || role === 'member' ? 'a' : 'an'} ${role}.`
  if (name !== undefined) return `Renamed ${who} to ${oneLine(name)}.`
  return disabled
    ? `Disabled ${who}: the browsers and tokens of this person are refused.`
    : `Enabled ${who}: the browsers and tokens of this person work again.`
}

function roleOf(given: string): Role {
  const role = Role.safeParse(given).data
  if (role) return role
  const near = nearest(given, allRoles)
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  throw new ParleyError('validation_error', `A role is one of ${allRoles.join(', ')}, not "${given}".${hint}`)
}
