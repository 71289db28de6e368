import { z } from 'zod'
import { InviteId, PersonId, TokenId } from './ids.ts'
import { Invite, Me, NamedToken, NewInvite, NewToken, Person, PersonPatch } from './people.ts'
import { NoContent, type RouteDefinition } from './route.ts'

/** The routes for people, their invitations and their named tokens. */
export const peopleRoutes = {
  getMe: {
    method: 'GET',
    path: '/api/me',
    summary: 'Get the person, the device or token, and the scopes of the caller',
    scope: 'any',
    limits: 'none',
    reply: Me,
  },
  listPeople: {
    method: 'GET',
    path: '/api/people',
    summary: 'List people, oldest first',
    scope: 'admin',
    limits: 'none',
    reply: z.object({ people: z.array(Person) }),
  },
  patchPerson: {
    method: 'PATCH',
    path: '/api/people/:id',
    summary: 'Rename a person, change the role, or disable the person; their connections are closed at once',
    scope: 'admin',
    limits: 'none',
    params: z.object({ id: PersonId }),
    body: PersonPatch,
    reply: Person,
  },
  listInvites: {
    method: 'GET',
    path: '/api/invites',
    summary: 'List invitations that are neither used nor expired',
    scope: 'admin',
    limits: 'none',
    reply: z.object({ invites: z.array(Invite) }),
  },
  createInvite: {
    method: 'POST',
    path: '/api/invites',
    summary: 'Invite a person: returns a link that works once and signs in their first browser',
    scope: 'admin',
    limits: 'none',
    body: NewInvite,
    reply: Invite.extend({ url: z.string() }),
    status: 201,
  },
  revokeInvite: {
    method: 'DELETE',
    path: '/api/invites/:id',
    summary: 'Withdraw an invitation',
    scope: 'admin',
    limits: 'none',
    params: z.object({ id: InviteId }),
    reply: NoContent,
  },
  listTokens: {
    method: 'GET',
    path: '/api/tokens',
    summary: 'List the named tokens of the caller; with the scope admin, those of all people',
    scope: 'any',
    limits: 'handled',
    reply: z.object({ tokens: z.array(NamedToken) }),
  },
  createToken: {
    method: 'POST',
    path: '/api/tokens',
    summary: 'Create a named token for the caller, with at most the scopes and limits of the caller',
    scope: 'any',
    limits: 'handled',
    body: NewToken,
    reply: NamedToken.extend({
      token: z.string().meta({ description: 'The secret; it is not shown again' }),
    }),
    status: 201,
  },
  revokeToken: {
    method: 'DELETE',
    path: '/api/tokens/:id',
    summary: 'Revoke a named token: it is refused and its connections are closed at once',
    scope: 'any',
    limits: 'handled',
    params: z.object({ id: TokenId }),
    reply: NoContent,
  },
} as const satisfies Record<string, RouteDefinition>
