import { resolve } from 'node:path'
import type { Client } from '@parley/client'
import { defined, type Limits, type NamedToken, type NewTokenInput } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText, localTimeText, parseLifetime } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { personNames } from '../person-names.ts'
import { referredTo } from '../reference.ts'
import { expiryText, limitsText, scopesOf, scopesText } from '../rights-text.ts'
import { findSession, shownIds } from '../session-reference.ts'
import { printResult } from '../terminal/output.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type NamedTokenOptions = Flags & { readonly json?: boolean }
export type NewTokenOptions = NamedTokenOptions & {
  readonly scope?: readonly string[]
  readonly folder?: readonly string[]
  readonly agent?: readonly string[]
  readonly session?: readonly string[]
  readonly expires?: string
}

/** Creates a named token. stdout gets only its secret, which is not shown again. */
export async function createToken(name: string, options: NewTokenOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  const { scope, expires } = options
  const rights = {
    ...(scope && { scopes: scopesOf(scope) }),
    ...(expires !== undefined && { lifetimeMs: parseLifetime(expires, '--expires') }),
  }
  await using server = await connect(existingConfigurationOf(context, options), context)
  const limits = await limitsOf(server.client, options, context)
  const body: NewTokenInput = { name, ...rights, ...defined({ limits }) }
  const created = await server.client.access.createToken(body)
  if (options.json) {
    output.out(`${JSON.stringify(created)}\n`)
    return 0
  }
  output.out(`${created.token}\n`)
  output.err(
    [
      `Created the token "${oneLine(created.name)}" (${created.tokenId}).`,
      ...rightsLines(created),
      'It is not shown again. Programs send it as "Authorization: Bearer <token>"; commands read PARLEY_TOKEN.',
      `To revoke it: ${commandLine(`token revoke ${created.tokenId}`)}\n`,
    ].join('\n'),
  )
  return 0
}

function rightsLines({ scopes, limits, expiresAt }: NamedToken): string[] {
  return [
    `Scopes: ${scopesText(scopes)}`,
    ...(limits ? [`Limits: ${oneLine(limitsText(limits))}`] : []),
    `Expires: ${expiresAt === undefined ? 'never' : localTimeText(expiresAt)}`,
  ]
}

async function limitsOf(
  client: Client,
  { folder, agent, session }: NewTokenOptions,
  context: Context,
): Promise<Limits | undefined> {
  const folders = folder?.map((one) => ({ folder: resolve(context.cwd, one) }))
  const sessions = session && (await Promise.all(session.map((one) => findSession(client, one, context))))
  const limits: Limits = defined({ sessions, folders, agents: agent && [...agent] })
  return Object.keys(limits).length > 0 ? limits : undefined
}

export async function listTokens(options: NamedTokenOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const tokens = await server.client.access.tokens()
  const nameOf = options.json ? undefined : await personNames(server.client, tokens)
  const isLimited = tokens.some(({ limits }) => limits)
  const columns = [
    { name: 'ID' },
    { name: 'NAME', shrinks: true },
    ...(nameOf ? [{ name: 'PERSON', shrinks: true }] : []),
    { name: 'SCOPES', shrinks: true },
    ...(isLimited ? [{ name: 'LIMITS', shrinks: true }] : []),
    { name: 'EXPIRES' },
    { name: 'USED' },
  ]
  const shown = shownIds(
    tokens.map(({ tokenId }) => tokenId),
    output,
  )
  const row = ({ tokenId, name, personId, scopes, limits, expiresAt, lastUsedAt }: NamedToken) => [
    shown(tokenId),
    name,
    ...(nameOf ? [nameOf(personId)] : []),
    scopesText(scopes),
    ...(isLimited ? [limitsText(limits)] : []),
    expiryText(expiresAt),
    lastUsedAt === undefined ? 'never' : ageText(Date.now() - lastUsedAt),
  ]
  const empty = `No named tokens. Create one: ${commandLine('token create <name> --scope read')}`
  printList(tokens, { columns, row, empty }, { json: options.json, output })
  return 0
}

export async function revokeToken(
  reference: string,
  options: NamedTokenOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const token = referredTo(await server.client.access.tokens(), reference, {
    one: 'token',
    many: 'tokens',
    id: ({ tokenId }) => tokenId,
    name: ({ name }) => name,
    list: context.commandLine('token list'),
  })
  await server.client.access.revokeToken(token.tokenId)
  const text = `Revoked ${oneLine(token.name)} (${token.tokenId}).`
  return printResult(context.output, options.json, { value: token, text })
}
