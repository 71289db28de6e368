import { z } from 'zod'
import {
  DecisionByLink,
  DecisionLink,
  LinkCode,
  LinkDecision,
  LinkedRequest,
  NewDecisionLink,
} from './decision-link.ts'
import { DecisionLinkId } from './ids.ts'
import { bySession, NoContent, type RouteDefinition } from './route.ts'

/** The routes for links that decide one request. The code of a link is sent in a body, so that no log contains it. */
export const decisionLinkRoutes = {
  createDecisionLink: {
    method: 'POST',
    path: '/api/sessions/:id/decision-links',
    summary: 'Create a link that decides one permission request of the session, once, without signing in',
    scope: ['read', 'decide'],
    limits: 'session',
    params: bySession,
    body: NewDecisionLink,
    reply: DecisionLink.extend({
      url: z.string().meta({ description: 'Contains the code; it is not shown again' }),
    }),
    status: 201,
  },
  listDecisionLinks: {
    method: 'GET',
    path: '/api/decision-links',
    summary: 'List the links of the caller that can still decide; with the scope admin, those of all people',
    scope: 'decide',
    limits: 'handled',
    reply: z.object({ links: z.array(DecisionLink) }),
  },
  revokeDecisionLink: {
    method: 'DELETE',
    path: '/api/decision-links/:id',
    summary: 'Revoke a link that decides a request',
    scope: 'decide',
    limits: 'handled',
    params: z.object({ id: DecisionLinkId }),
    reply: NoContent,
  },
  showLinkedRequest: {
    method: 'POST',
    path: '/api/linked-requests',
    summary: 'Get the request that a link can decide; does not use the link up',
    scope: 'open',
    limits: 'none',
    body: LinkCode,
    reply: LinkedRequest,
  },
  decideByLink: {
    method: 'POST',
    path: '/api/linked-decisions',
    summary: 'Decide the request of a link; uses the link up',
    scope: 'open',
    limits: 'none',
    body: DecisionByLink,
    reply: z.object({ decision: LinkDecision }),
  },
} as const satisfies Record<string, RouteDefinition>
