import type {
  Device,
  Invite,
  Me,
  NamedToken,
  NewInviteInput,
  NewTokenInput,
  Person,
  PersonPatch,
} from '@parley/protocol'
import type { Call } from './http.ts'

type Given = { readonly signal?: AbortSignal | undefined }

/** The people who use a server, and their browsers and named tokens. */
export type Access = {
  /** The person, the browser or token, and the scopes and limits of this client. */
  me(given?: Given): Promise<Me>
  people(given?: Given): Promise<readonly Person[]>
  updatePerson(personId: string, patch: PersonPatch, given?: Given): Promise<Person>
  /** The invitations that are neither used nor expired. */
  invites(given?: Given): Promise<readonly Invite[]>
  /** Creates a link that works once and signs in the first browser of a new person. */
  invite(invite: NewInviteInput, given?: Given): Promise<Invite & { readonly url: string }>
  withdrawInvite(inviteId: string, given?: Given): Promise<void>
  /** The named tokens of the person; with the scope `admin`, those of all people. */
  tokens(given?: Given): Promise<readonly NamedToken[]>
  /** Creates a named token. The reply has its secret, which the server does not show again. */
  createToken(token: NewTokenInput, given?: Given): Promise<NamedToken & { readonly token: string }>
  revokeToken(tokenId: string, given?: Given): Promise<void>
  /** The signed-in browsers of the person; with the scope `admin`, those of all people. */
  devices(given?: Given): Promise<readonly Device[]>
  revokeDevice(deviceId: string, given?: Given): Promise<void>
  /** Creates a link that signs in another browser of the person. */
  createLink(given?: Given): Promise<{ readonly url: string; readonly expiresAt: number }>
}

export function createAccess(call: Call): Access {
  const withId = (id: string, given?: Given) => ({ ...given, params: { id } })
  return {
    me: (given) => call('getMe', given),
    people: async (given) => (await call('listPeople', given)).people,
    updatePerson: (personId, body, given) => call('patchPerson', { ...withId(personId, given), body }),
    invites: async (given) => (await call('listInvites', given)).invites,
    invite: (body, given) => call('createInvite', { ...given, body }),
    withdrawInvite: async (inviteId, given) => void (await call('revokeInvite', withId(inviteId, given))),
    tokens: async (given) => (await call('listTokens', given)).tokens,
    createToken: (body, given) => call('createToken', { ...given, body }),
    revokeToken: async (tokenId, given) => void (await call('revokeToken', withId(tokenId, given))),
    devices: async (given) => (await call('listDevices', given)).devices,
    revokeDevice: async (deviceId, given) => void (await call('revokeDevice', withId(deviceId, given))),
    createLink: (given) => call('createLink', given),
  }
}
