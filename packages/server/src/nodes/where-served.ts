import type { RouteName } from '@parley/protocol'

/**
 * The node that answers a request:
 * - `any`: every node, from the database.
 * - `owner`: the owner of the session. The host of each node sends the operation to it; the face does nothing.
 * - `place`: a node at the place of the session, because the answer is made from its folder.
 * - `snapshots`: like `place`, but the owner of the session if it lives and the request is about snapshots. They are in
 *   the data folder of the node that has taken them.
 * - `maker`: the node that made the id or code in the request, because only that node has the object in its memory.
 * - `here`: the node that the client is connected to. The answer describes its machine or the node itself.
 */
export type Where = 'any' | 'owner' | 'place' | 'snapshots' | 'maker' | 'here'

/** Whether a request with this query needs snapshots. For routes with `snapshots`. */
export function isAboutSnapshots(query: Readonly<Record<string, unknown>> | undefined): boolean {
  return query?.rev !== undefined || query?.scope === 'turn' || query?.scope === 'session'
}

export const whereServed: Readonly<Record<RouteName, Where>> = {
  health: 'here',
  openapi: 'here',
  metrics: 'here',
  createSnapshot: 'here',
  listNodes: 'any',
  getSessionNode: 'any',

  listSessions: 'any',
  // Branches are read from the folders of this node's place only.
  listProjects: 'any',
  patchProject: 'any',
  search: 'any',
  getSession: 'any',
  events: 'any',
  exportSession: 'any',
  listPermissions: 'any',
  chatMessages: 'any',
  resumeChat: 'any',
  patchSession: 'owner',
  deleteSession: 'owner',
  command: 'owner',
  previewRewind: 'owner',
  suggestMessage: 'owner',
  chat: 'owner',
  stopChat: 'owner',

  createSession: 'here',
  prepareSession: 'here',
  findFolders: 'here',
  offerWorktree: 'here',
  listWorktrees: 'here',
  // The host sends the request to the place of the project.
  createRound: 'any',
  listRounds: 'any',
  // The node that answers requests the changes from the node that has the folders.
  getRound: 'any',
  compareAttempts: 'any',
  getAttemptPatch: 'any',
  removeOrphan: 'here',
  findFilesIn: 'here',
  listConversations: 'here',
  importConversation: 'here',
  listAgents: 'here',
  listModels: 'here',
  addAgent: 'here',
  forgetAgent: 'here',
  setAgentKey: 'here',
  removeAgentKey: 'here',
  testAgent: 'here',
  installAgent: 'here',
  removeAgent: 'here',

  // Names the branch and the changed files of the folder.
  previewHandOff: 'place',
  findFiles: 'place',
  getWorktree: 'place',
  readTree: 'place',
  readFile: 'snapshots',
  listChanges: 'snapshots',
  getPatch: 'snapshots',
  getBranch: 'place',
  getPullRequest: 'place',
  getCheckLogs: 'place',
  previewMerge: 'place',
  openTerminal: 'place',
  // The marks are in the database.
  listViewed: 'any',
  markViewed: 'any',
  // The node that answers asks the other nodes at the place for their terminals.
  listTerminals: 'any',
  removeTerminal: 'maker',

  listRules: 'any',
  createRule: 'any',
  deleteRule: 'any',
  listTrustedFolders: 'any',
  trustFolder: 'any',
  distrustFolder: 'any',
  listEnvironments: 'any',
  setEnvironment: 'any',
  unsetEnvironment: 'any',

  listAudit: 'any',
  listSealKeys: 'any',
  checkLog: 'any',
  sealLog: 'owner',
  redactEvent: 'owner',

  getMe: 'any',
  listPeople: 'any',
  patchPerson: 'any',
  listInvites: 'any',
  createInvite: 'any',
  revokeInvite: 'any',
  listTokens: 'any',
  createToken: 'any',
  revokeToken: 'any',

  createDecisionLink: 'any',
  listDecisionLinks: 'any',
  revokeDecisionLink: 'any',
  // The links are in the database. The host sends the decision to the owner of the session.
  showLinkedRequest: 'any',
  decideByLink: 'owner',

  listTargets: 'any',
  createTarget: 'any',
  patchTarget: 'any',
  removeTarget: 'any',
  testTarget: 'any',

  createLink: 'any',
  createPairing: 'any',
  // Each node has its own public URL.
  setPublicUrl: 'here',
  createDevice: 'maker',
  listDevices: 'any',
  revokeDevice: 'any',
  signOut: 'any',
  getSignIn: 'any',
  startOidc: 'maker',
  finishOidc: 'maker',
  createNonce: 'any',
  createAccessToken: 'maker',
  createDownload: 'any',
  download: 'maker',
}
