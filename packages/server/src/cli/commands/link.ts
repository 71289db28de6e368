import { type DecisionLink, defined, longestLinkMs, type OpenRequest, ParleyError } from '@parley/protocol'
import { isLoopback } from '../../faces/http/authentication.ts'
import type { Flags } from '../configuration.ts'
import { connect, runningServer } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText, localTimeText, parseLifetime } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { personNames } from '../person-names.ts'
import { referredTo } from '../reference.ts'
import { expiryText } from '../rights-text.ts'
import { findSession, shownIds } from '../session-reference.ts'
import { printResult } from '../terminal/output.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type LinkOptions = Flags & { readonly json?: boolean }
export type NewLinkOptions = LinkOptions & {
  readonly allow?: boolean
  readonly expires?: string
  readonly name?: string
}

/** Creates a decision link. stdout gets only its URL, which is not shown again. */
export async function createLink(
  session: string,
  request: string | undefined,
  options: NewLinkOptions,
  context: Context,
): Promise<number> {
  const { output, commandLine } = context
  const { allow, expires, name, json } = options
  const lifetimeMs = expires === undefined ? undefined : lifetimeOf(expires)
  await using server = await runningServer(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, session, context)
  const { requests } = await server.client.call('getSession', { params: { id }, query: { tail: 0 } })
  const { requestId, inputHash, title } = permissionOf(requests, request, commandLine(`show ${id}`))
  const decisions: ('allow' | 'deny')[] = allow ? ['allow', 'deny'] : ['deny']
  const body = { requestId, inputHash, decisions, ...defined({ name, lifetimeMs }) }
  const created = await server.client.call('createDecisionLink', { params: { id }, body })
  if (json) output.out(`${JSON.stringify(created)}\n`)
  else {
    output.out(`${created.url}\n`)
    output.err(
      [
        `Whoever opens the link can ${allow ? 'allow or deny' : 'deny'} this call, once, until ${localTimeText(created.expiresAt)}:`,
        `  ${oneLine(title)}`,
        `It is not shown again. To revoke it: ${commandLine(`link revoke ${created.linkId}`)}\n`,
      ].join('\n'),
    )
  }
  if (isLoopback(new URL(created.url).hostname.replace(/^\[|\]$/g, '')))
    output.err(
      'Only this machine can reach that address. See docs/operations.md for the ways to change that.\n',
    )
  return 0
}

function lifetimeOf(text: string): number {
  const ms = parseLifetime(text, '--expires')
  if (ms <= longestLinkMs) return ms
  throw new ParleyError('validation_error', '--expires takes at most 24h: a link works for a day at most.')
}

type Permission = Extract<OpenRequest, { type: 'permission' }>

/** The permission request that a reference names; without a reference, the only open permission request. */
function permissionOf(requests: readonly OpenRequest[], given: string | undefined, list: string): Permission {
  const open = requests.filter((request) => request.type === 'permission')
  const about = {
    one: 'open permission request',
    many: 'open permission requests',
    id: ({ requestId }: Permission) => requestId,
    list,
  }
  if (given !== undefined) return referredTo(open, given, about)
  const [only, ...others] = open
  if (only && others.length === 0) return only
  if (only)
    throw new ParleyError(
      'validation_error',
      `The session has ${open.length} open permission requests. Name one: ${open.map(({ requestId, title }) => `${requestId} (${oneLine(title, 40)})`).join(', ')}.`,
    )
  throw new ParleyError(
    'not_found',
    requests.length > 0
      ? 'The session asks a question, and a link cannot answer a question.'
      : 'No permission request of this session waits for a decision.',
  )
}

export async function listLinks(options: LinkOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { links } = await server.client.call('listDecisionLinks')
  const nameOf = options.json ? undefined : await personNames(server.client, links)
  const columns = [
    { name: 'ID' },
    { name: 'NAME', shrinks: true },
    ...(nameOf ? [{ name: 'PERSON', shrinks: true }] : []),
    { name: 'SESSION', shrinks: true },
    { name: 'DECISIONS' },
    { name: 'EXPIRES' },
    { name: 'AGE' },
  ]
  const shown = shownIds(
    links.map(({ linkId }) => linkId),
    output,
  )
  const row = ({ linkId, name, personId, sessionId, decisions, expiresAt, createdAt }: DecisionLink) => [
    shown(linkId),
    name,
    ...(nameOf ? [nameOf(personId)] : []),
    sessionId,
    decisions.join(','),
    expiryText(expiresAt),
    ageText(Date.now() - createdAt),
  ]
  const empty = `There are no links that can still decide a request. Create one: ${commandLine('link <session>')}`
  printList(links, { columns, row, empty }, { json: options.json, output })
  return 0
}

export async function revokeLink(reference: string, options: LinkOptions, context: Context): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const link = referredTo((await server.client.call('listDecisionLinks')).links, reference, {
    one: 'link',
    many: 'links',
    id: ({ linkId }) => linkId,
    name: ({ name }) => name,
    list: context.commandLine('link list'),
  })
  await server.client.call('revokeDecisionLink', { params: { id: link.linkId } })
  const text = `Revoked ${oneLine(link.name)} (${link.linkId}).`
  return printResult(context.output, options.json, { value: link, text })
}
