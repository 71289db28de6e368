import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BlockList, isIP } from 'node:net'
import {
  allScopes,
  type ExportFormat,
  newId,
  ParleyError,
  type Person,
  tokenOfProtocols,
} from '@parley/protocol'
import {
  type Caller,
  type DecideFrom,
  type DeviceGrant,
  Devices,
  Holders,
  machinePrincipal,
  ownerId,
  People,
  type Principal,
  Tokens,
  unstoredCaller,
} from '../../access/index.ts'
import type { AccessStore } from '../../core/access-store.ts'
import { nodeLetters, type OtherNodes } from '../other-nodes.ts'
import { type ClientAddress, createClientAddress } from './client-address.ts'
import { type CommandLine, plainCommandLine } from './command-line.ts'
import { createOneTimeCodes, type OneTimeCodes, randomLetters } from './one-time-codes.ts'
import { createRequestSource, type RequestSource, type SourceSettings } from './request-source.ts'
import { shortestToken } from './token-length.ts'

export type { DecideByLink, DecideFrom } from '../../access/index.ts'

/** The export that a one-time download URL returns, and the caller that requested the URL. */
export type Download = { readonly sessionId: string; readonly as: ExportFormat; readonly caller: Caller }

/** The rights that a one-time sign-in code gives to a browser, and the caller that requested the code. */
export type SignInCode = {
  /** Names the code in the ledger, which must not contain the code itself. */
  readonly id: string
  readonly caller: Caller
  readonly grant: DeviceGrant
  /** The name of the device, unless the device gives a name itself. */
  readonly name?: string | undefined
}

/**
 * Authenticates callers by the server's token, a named token or a device's access token. Defines no routes and no
 * status codes.
 */
export type Authentication = {
  readonly source: RequestSource
  /** The address of the client, for logs and rate limits only. */
  readonly clientAddress: ClientAddress
  readonly codes: OneTimeCodes<SignInCode>
  /** The pairing codes, without the dashes between their groups. */
  readonly pairings: OneTimeCodes<SignInCode>
  readonly downloads: OneTimeCodes<Download>
  /** The signed-in browsers. Throws ParleyError `not_supported` if there is no access store. */
  devices(): Devices
  /** The named tokens. Throws like `devices`. */
  tokens(): Tokens
  /** The people. Throws like `devices`. */
  people(): People
  /** The stored person of a principal. Undefined if the person is not stored here. */
  personOf(principal: Principal): Promise<Person | undefined>
  /** The caller for a program with the server's token. */
  machine(): Caller
  /** The principal of a device or a token; undefined if it is unknown, revoked or expired. */
  principalOf(holder: {
    readonly kind: 'device' | 'token'
    readonly id: string
  }): Promise<Principal | undefined>
  isFromNode(request: IncomingMessage): boolean
  /** Loads the data that `checkCaller` needs. If this returns a promise, await it before `checkCaller`. */
  learn(request: IncomingMessage): Promise<unknown> | undefined
  /** The sender of a request. Throws ParleyError `unauthorized` without a valid token. Cookies are ignored. */
  checkCaller(request: IncomingMessage): Caller
  /** A Set-Cookie header that clears the cookie of an earlier version, if the browser still sends it. */
  clearCookie(request: IncomingMessage): string | undefined
}

/**
 * Authenticates the requests of an embedding server. If it returns undefined, the request has no access by this means.
 * If it throws, the request is refused.
 */
export type Authenticate = (
  request: IncomingMessage,
) => Principal | undefined | Promise<Principal | undefined>

export type AuthenticationSettings = SourceSettings & {
  readonly trustedProxies?: readonly string[] | undefined
  /** Lets browsers sign in over plain HTTP from other machines, with a secret instead of a key. */
  readonly allowInsecure?: boolean | undefined
  readonly token: string
  /** Stores people, browsers and named tokens. Without it, only the server's token gives access. */
  readonly access?: AccessStore | undefined
  /** The name of the person to whom the server's token belongs. */
  readonly ownerName?: string | undefined
  readonly authenticate?: Authenticate | undefined
  /** The callers that may decide. Default: every caller with the scope `decide`. */
  readonly decideFrom?: DecideFrom | undefined
  /** Recognises requests of the other nodes on the same database. Absent if there are no other nodes. */
  readonly peers?: PeerAuthentication | undefined
  readonly otherNodes?: OtherNodes | undefined
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
  /** Formats a command for public messages, without the data folder. */
  readonly commandLine?: CommandLine
}

export type PeerAuthentication = {
  accepts(bearer: string): boolean
  answerHeaders(request: IncomingMessage): Record<string, string>
}

/** The code of a link for a new browser of the person to whom the server's token belongs. */
export function machineCode({ machine }: Pick<Authentication, 'machine'>): SignInCode {
  const caller = machine()
  const grant = { personId: caller.principal.person.id, scopes: [...allScopes] }
  return { id: newId('sgn'), caller, grant }
}

/** The callers with the server's token, one for each name of its person. */
function createMachineCallers(decideFrom: DecideFrom): (owner: Principal['person']) => Caller {
  let known: Caller | undefined
  return (owner) => {
    if (known?.principal.person.name === owner.name) return known
    known = unstoredCaller('token', machinePrincipal(owner, decideFrom))
    return known
  }
}

/** The callers that an embedding server authenticates. `learn` passes each request to the embedding server once. */
function createEmbeddedCallers(authenticate: Authenticate | undefined) {
  const callers = new WeakMap<IncomingMessage, Caller>()
  const add = (request: IncomingMessage, principal: Principal | undefined) => {
    if (!principal) return
    const caller = unstoredCaller('embedded', { ...principal, kind: 'embedded' })
    if (!caller.isRevoked) callers.set(request, caller)
  }
  return {
    learn(request: IncomingMessage): Promise<void> | undefined {
      const found = authenticate?.(request)
      if (found instanceof Promise) return found.then((principal) => add(request, principal))
      add(request, found)
      return undefined
    },
    callerOf: (request: IncomingMessage) => callers.get(request),
  }
}

export const linkLifetimeMs = 15 * 60_000
export const startLinkLifetimeMs = 24 * 60 * 60_000
export const pairingLifetimeMs = 10 * 60_000
export const downloadLifetimeMs = 60_000
/** A limit, because each valid code makes guessing easier. */
const maxPairings = 100

export function createAuthentication(settings: AuthenticationSettings): Authentication {
  const { token, commandLine = plainCommandLine, now } = settings
  if (token.length < shortestToken) {
    throw new ParleyError('validation_error', `The token needs at least ${shortestToken} characters.`)
  }
  const { access: store, otherNodes: others, peers, ownerName = 'owner', decideFrom = 'anywhere' } = settings
  const { allowInsecure } = settings
  const holders = store && new Holders(store, ownerName, decideFrom)
  const devices = holders && new Devices({ holders, others, allowInsecure, ...(now && { now }) })
  const tokens = holders && new Tokens(holders)
  const people = holders && new People(holders, store)
  const machineOf = createMachineCallers(decideFrom)
  const machine = () => machineOf(holders?.owner ?? { id: ownerId, name: ownerName })
  const embedded = createEmbeddedCallers(settings.authenticate)
  const wanted = digestOf(token)
  const present = <Part>(part: Part | undefined): Part => {
    if (part) return part
    throw new ParleyError('not_supported', 'Signing in browsers is not enabled on this server.')
  }

  return {
    source: createRequestSource(settings),
    clientAddress: createClientAddress(settings.trustedProxies),
    codes: createOneTimeCodes({ now, suffix: others?.suffix }),
    pairings: createPairingCodes(now, others),
    downloads: createOneTimeCodes({ now, suffix: others?.suffix }),
    devices: () => present(devices),
    tokens: () => present(tokens),
    people: () => present(people),
    personOf: async ({ kind, person }) => (kind === 'embedded' ? undefined : people?.get(person.id)),
    machine,
    principalOf: (holder) => principalOf(holder, machine(), holders),
    isFromNode(request) {
      return peers?.accepts(credentialOf(request) ?? '') === true
    },
    learn(request) {
      const given = credentialOf(request) ?? ''
      const learning = devices?.learn(given) ?? tokens?.learn(given)
      const examining = embedded.learn(request)
      return learning && examining ? Promise.all([learning, examining]) : (learning ?? examining)
    },
    checkCaller(request) {
      const { authorization } = request.headers
      const known = embedded.callerOf(request)
      if (known) return known
      const given = credentialOf(request)
      if (given !== undefined) {
        // The server's own token never has the prefix of named tokens.
        const named = tokens?.callerOf(given)
        if (named) return named
        if (timingSafeEqual(digestOf(given), wanted)) return machine()
        if (peers?.accepts(given)) return unstoredCaller('node', machine().principal)
        const caller = devices?.callerOf(given)
        if (caller) return caller
      }
      throw unauthorized(commandLine, given !== undefined || authorization !== undefined)
    },
    clearCookie(request) {
      const name = `parley-${settings.bound().port}`
      if (!request.headers.cookie?.includes(`${name}=`)) return undefined
      return `${name}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`
    },
  }
}

async function principalOf(
  { kind, id }: { readonly kind: 'device' | 'token'; readonly id: string },
  { principal }: Caller,
  holders: Holders | undefined,
): Promise<Principal | undefined> {
  if (kind === principal.kind && id === principal.id) return principal
  await holders?.upToDate()
  const holder = holders?.get(kind, id)
  return holder && holders?.principalOf(holder)
}

function createPairingCodes(now: (() => number) | undefined, others: OtherNodes | undefined) {
  const suffix = others && (() => nodeLetters(others.suffix()))
  return createOneTimeCodes<SignInCode>({ now, suffix, max: maxPairings, random: randomLetters })
}

/** The credential of a request: in its Authorization header or, for a WebSocket of a browser, in a subprotocol. */
function credentialOf({ headers }: IncomingMessage): string | undefined {
  const { authorization, 'sec-websocket-protocol': protocols } = headers
  if (authorization === undefined) return tokenOfProtocols(protocols)
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
}

/**
 * A sign-in link. Its code is in the fragment, so it is not sent to any server or log, and a link preview does not
 * use it up.
 */
export function linkTo(url: string, code: string): string {
  return `${url}/open#${code}`
}

/** Destroys an open response when the access of its caller is revoked. The returned function cancels this. */
export function cutWhenRevoked(caller: Caller, outgoing: ServerResponse): () => void {
  const forget = caller.onRevoked(() => outgoing.destroy())
  outgoing.once('close', forget)
  return forget
}

/**
 * Throws if the server may not listen on this address: any address but loopback needs an explicit token and
 * `--allow-remote`.
 */
export function assertBindable(listening: {
  hostname: string
  tokenExplicit: boolean
  allowRemote: boolean
}): void {
  if (isLoopback(listening.hostname)) return
  const missing = [
    ...(listening.allowRemote ? [] : ['--allow-remote']),
    ...(listening.tokenExplicit ? [] : ['PARLEY_TOKEN (or --token-file <file>)']),
  ]
  if (missing.length === 0) return
  throw new ParleyError(
    'validation_error',
    `${listening.hostname || 'Every address'} can be reached from other machines. Add ${missing.join(' and ')} if that is intended, or listen on 127.0.0.1.`,
    { details: { hostname: listening.hostname, missing } },
  )
}

export function isLoopback(hostname: string): boolean {
  const family = isIP(hostname)
  if (family === 0) return hostname.toLowerCase() === 'localhost'
  return loopback.check(hostname, family === 6 ? 'ipv6' : 'ipv4')
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Hashes are compared instead of tokens, so that the timing reveals neither content nor length. */
function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** `details.link` is the command that prints a sign-in link, for a page to show. */
function unauthorized(commandLine: CommandLine, isTokenGiven: boolean): ParleyError {
  const link = commandLine('token --link')
  const message = isTokenGiven
    ? `That token is not valid; \`${commandLine('token')}\` prints the valid one (with the --data-dir of this server, if it has one).`
    : `Send the token as "Authorization: Bearer <token>" (\`${commandLine('token')}\` prints it, with the --data-dir of this server if it has one), or open a link from \`${link}\` in a browser.`
  return new ParleyError('unauthorized', message, { details: { link } })
}
