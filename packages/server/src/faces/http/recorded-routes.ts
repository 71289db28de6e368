import { type Actor, defined, hasCode, type Route, routes } from '@parley/protocol'
import type { Host } from '../../core/index.ts'

/** A request that has succeeded. */
type Handled = {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  readonly reply: Readonly<Record<string, unknown>>
  /** The data that the handler has noted for the ledger. */
  readonly noted: Readonly<Record<string, unknown>>
}

type Recording = {
  readonly kind: string
  readonly subject: (handled: Handled) => unknown
  /** Facts without secrets: neither codes nor tokens nor the values of variables. */
  readonly data?: (handled: Handled) => Record<string, unknown>
  /** Whether the request has changed anything that the ledger records. By default, it has. */
  readonly isChange?: (handled: Handled) => boolean
}

const pick = (from: Readonly<Record<string, unknown>>, ...names: string[]) =>
  defined(Object.fromEntries(names.map((name) => [name, from[name]])))
const byId = ({ params }: Handled) => params.id
const rights = ['personId', 'scopes', 'limits', 'expiresAt']

const deviceAdded: Recording = {
  kind: 'device.added',
  subject: ({ reply }) => reply.deviceId,
  data: ({ reply, body, noted }) => ({
    ...pick(reply, 'name', ...rights),
    ...pick(body, 'publicKey'),
    ...pick(noted, 'code'),
  }),
}

/**
 * The recording of a route that creates a code for signing in. `device.added` names the code that was used,
 * and `sign-in.failed` names a wrong code.
 */
const codeCreated = (kind: string): Recording => ({
  kind,
  subject: ({ noted }) => noted.code,
  data: ({ noted, reply }) => ({ ...pick(noted, ...rights), usableUntil: reply.expiresAt }),
})

const namesOf = (variables: unknown) => Object.keys(variables ?? {})
const targetOf = ({ sessionId, folder }: Handled['body']) => sessionId ?? folder

/**
 * The routes that the ledger records, after they have succeeded and before they are answered. Rules that an answer
 * grants, deletions and redactions are recorded together with their storage.
 */
const recordings = new Map<Route, Recording>([
  [routes.patchPerson, { kind: 'person.changed', subject: byId, data: ({ body }) => ({ ...body }) }],
  [
    routes.createInvite,
    {
      kind: 'invite.created',
      subject: ({ reply }) => reply.inviteId,
      data: ({ reply }) => pick(reply, 'role', 'name', 'expiresAt'),
    },
  ],
  [routes.revokeInvite, { kind: 'invite.revoked', subject: byId }],
  [routes.createLink, codeCreated('link.created')],
  [routes.createPairing, codeCreated('pairing.created')],
  [routes.createDevice, deviceAdded],
  [routes.finishOidc, deviceAdded],
  [routes.revokeDevice, { kind: 'device.revoked', subject: byId }],
  [
    routes.signOut,
    {
      kind: 'device.revoked',
      subject: ({ noted }) => noted.device,
      isChange: ({ noted }) => noted.device !== undefined,
    },
  ],
  [routes.setPublicUrl, { kind: 'public-url.set', subject: ({ reply }) => reply.url }],
  [
    routes.createToken,
    {
      kind: 'token.created',
      subject: ({ reply }) => reply.tokenId,
      data: ({ reply }) => pick(reply, 'name', 'hint', ...rights),
    },
  ],
  [routes.revokeToken, { kind: 'token.revoked', subject: byId }],
  [
    routes.createRule,
    {
      kind: 'rule.added',
      subject: ({ reply }) => reply.ruleId,
      data: ({ reply }) => pick(reply, 'decision', 'scope', 'tool', 'match', 'project', 'agent'),
    },
  ],
  [routes.deleteRule, { kind: 'rule.removed', subject: byId }],
  [
    routes.patchProject,
    {
      kind: 'project.changed',
      subject: ({ reply }) => reply.project,
      data: ({ body, reply }) => ({ ...body, ...pick(reply, 'place') }),
    },
  ],
  [routes.trustFolder, { kind: 'folder.trusted', subject: ({ body }) => body.folder }],
  [
    routes.distrustFolder,
    { kind: 'folder.distrusted', subject: ({ query, body }) => body.folder ?? query.folder },
  ],
  [
    routes.setEnvironment,
    {
      kind: 'environment.changed',
      subject: ({ body }) => targetOf(body),
      data: ({ body }) => ({ names: namesOf(body.variables), ...pick(body, 'place') }),
    },
  ],
  [
    routes.unsetEnvironment,
    {
      kind: 'environment.removed',
      subject: ({ query }) => targetOf(query),
      data: ({ query }) => pick(query, 'name', 'place'),
    },
  ],
  [
    routes.createSession,
    {
      kind: 'environment.changed',
      subject: ({ reply }) => reply.id,
      data: ({ body }) => ({ names: namesOf(body.env) }),
      isChange: ({ body }) => namesOf(body.env).length > 0,
    },
  ],
  [routes.setAgentKey, { kind: 'agent.key-set', subject: byId, data: ({ body }) => pick(body, 'variable') }],
  [
    routes.removeAgentKey,
    { kind: 'agent.key-removed', subject: byId, data: ({ query }) => pick(query, 'variable') },
  ],
  [
    routes.addAgent,
    { kind: 'agent.added', subject: ({ body }) => body.id, data: ({ body }) => pick(body, 'command') },
  ],
  [routes.forgetAgent, { kind: 'agent.removed', subject: byId }],
  [routes.installAgent, { kind: 'agent.install-started', subject: byId }],
  [routes.removeAgent, { kind: 'agent.uninstalled', subject: byId }],
  [
    routes.createDecisionLink,
    {
      kind: 'decision-link.created',
      subject: ({ reply }) => reply.linkId,
      data: ({ reply }) => pick(reply, 'name', 'sessionId', 'requestId', 'decisions', 'expiresAt'),
    },
  ],
  [routes.revokeDecisionLink, { kind: 'decision-link.revoked', subject: byId }],
  [routes.createTarget, { kind: 'target.added', subject: ({ reply }) => reply.targetId ?? reply.id }],
  [routes.patchTarget, { kind: 'target.changed', subject: byId }],
  [routes.removeTarget, { kind: 'target.removed', subject: byId }],
  [routes.exportSession, { kind: 'session.exported', subject: byId, data: ({ query }) => pick(query, 'as') }],
  [routes.createDownload, { kind: 'session.exported', subject: byId, data: ({ body }) => pick(body, 'as') }],
  [routes.createSnapshot, { kind: 'store.backed-up', subject: () => 'database' }],
])

type Sender = { readonly actor: Actor | undefined; readonly address: string | undefined }

/** Records a request in the ledger, if the ledger records its route. Rejects if it could not be recorded. */
export async function recordRequest(
  host: Pick<Host, 'recordInLedger'>,
  route: Route,
  handled: {
    readonly params: unknown
    readonly query: unknown
    readonly body: unknown
    readonly reply: unknown
    readonly noted?: unknown
  },
  sender: Sender,
): Promise<void> {
  const recording = recordings.get(route)
  if (!recording) return
  const { params, query, body, reply, noted } = handled
  const fields = (value: unknown) =>
    (typeof value === 'object' && value !== null ? value : {}) as Handled['body']
  const given = {
    ...{ params: fields(params), query: fields(query), body: fields(body) },
    ...{ reply: fields(reply), noted: fields(noted) },
  }
  const { kind, subject, data, isChange } = recording
  if (isChange && !isChange(given)) return
  await host.recordInLedger({
    kind,
    subject: String(subject(given) ?? ''),
    ...defined({ ...sender, data: data?.(given) }),
  })
}

/** Records a link that the server itself has created. */
export async function recordLink(
  host: Pick<Host, 'recordInLedger'>,
  { id, grant }: { readonly id: string; readonly grant: object },
  usableUntil: number,
): Promise<void> {
  await host.recordInLedger({
    kind: 'link.created',
    subject: id,
    data: { ...pick(grant as Handled['body'], ...rights), usableUntil },
  })
}

const failuresPerMs = 60_000
const maxFailures = 20

/** Records refused credentials in the ledger: at most 20 in a minute, so that an attacker cannot fill the disk. */
export function createFailureRecord(host: Pick<Host, 'recordInLedger'>, now = () => performance.now()) {
  let recorded: number[] = []
  return async (error: unknown, path: string, address: string | undefined): Promise<void> => {
    if (!hasCode(error, 'unauthorized')) return
    const at = now()
    recorded = recorded.filter((before) => at - before < failuresPerMs)
    if (recorded.length >= maxFailures) return
    recorded.push(at)
    const { reason, code } = error.details ?? {}
    const data = typeof reason === 'string' ? defined({ reason, code }) : undefined
    await host.recordInLedger({
      kind: 'sign-in.failed',
      subject: path,
      ...defined({ address, data }),
    })
  }
}
