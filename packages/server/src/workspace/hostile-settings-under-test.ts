/** Settings, hooks and variables that can make git run a program, according to git's documentation. */

export type KeyCase = {
  readonly key: string
  readonly value?: string
  readonly also?: Readonly<Record<string, string>>
} & ({ readonly proof: string } | { readonly never: string })

export const fill = "printf 'url=https://127.0.0.1\\n\\n' | git credential fill"
const commit = 'git commit --allow-empty -m x'
export const terminal = (line: string) => `script -qec '${line}' /dev/null`
const signing = { 'commit.gpgSign': 'true', 'user.signingKey': 'key::ssh-ed25519 AAAA' }
const remote = { 'remote.evil.url': '.' }
const ownProgram = 'a program of its own, which Parley does not start'

/** Configuration keys that name a program. `RUN` stands for a program that creates the mark. */
export const hostileKeys: readonly KeyCase[] = [
  { key: 'core.fsmonitor', proof: 'git status' },
  { key: 'core.editor', proof: 'git commit --allow-empty' },
  { key: 'core.pager', proof: terminal('git diff') },
  { key: 'core.sshCommand', proof: 'git ls-remote ssh://127.0.0.1/x' },
  { key: 'core.gitProxy', proof: 'git ls-remote git://127.0.0.1/x' },
  { key: 'core.askPass', proof: fill },
  { key: 'core.hooksPath', value: 'HOOKS', proof: commit },
  {
    key: 'core.alternateRefsCommand',
    proof:
      'git clone -q --bare . ../other && echo "$PWD/../other/objects" > .git/objects/info/alternates && git -C ../other branch x && git fetch -q ../other x',
  },
  { key: 'alias.evil', value: '!RUN', proof: 'git evil' },
  { key: 'alias.diff', value: '!RUN', never: 'a command of git cannot be an alias' },
  { key: 'pager.diff', proof: terminal('git diff') },
  { key: 'sequence.editor', proof: 'git stash -q; git rebase -i HEAD~1' },
  { key: 'credential.helper', value: '!RUN', proof: fill },
  { key: 'credential.https://127.0.0.1.helper', value: '!RUN', proof: fill },
  { key: 'filter.evil.clean', proof: 'git diff' },
  { key: 'filter.evil.smudge', proof: 'rm a.txt; git checkout a.txt' },
  { key: 'filter.evil.process', proof: 'git diff', also: { 'filter.evil.required': 'true' } },
  { key: 'diff.external', proof: 'git diff' },
  { key: 'diff.evil.command', proof: 'git diff' },
  { key: 'diff.evil.textconv', proof: 'git diff', also: { 'diff.evil.cachetextconv': 'true' } },
  { key: 'diff.tool', value: 'evil', also: { 'difftool.evil.cmd': 'RUN' }, proof: 'git difftool -y' },
  { key: 'diff.guitool', value: 'evil', also: { 'difftool.evil.cmd': 'RUN' }, proof: 'git difftool -gy' },
  { key: 'difftool.evil.cmd', proof: 'git difftool -y -t evil' },
  { key: 'difftool.meld.path', proof: 'git difftool -y -t meld' },
  { key: 'merge.evil.driver', proof: 'git stash -q; git merge side' },
  {
    key: 'merge.tool',
    value: 'evil',
    also: { 'mergetool.evil.cmd': 'RUN' },
    proof: 'git stash -q; git merge side; git mergetool -y',
  },
  {
    key: 'merge.guitool',
    value: 'evil',
    also: { 'mergetool.evil.cmd': 'RUN' },
    proof: 'git stash -q; git merge side; git mergetool -g -y',
  },
  { key: 'mergetool.evil.cmd', proof: 'git stash -q; git merge side; git mergetool -y -t evil' },
  { key: 'mergetool.meld.path', proof: 'git stash -q; git merge side; git mergetool -y -t meld' },
  {
    key: 'interactive.diffFilter',
    proof: terminal('yes q | git add -p'),
  },
  { key: 'gpg.program', also: { ...signing, 'user.signingKey': 'x' }, proof: commit },
  { key: 'gpg.openpgp.program', also: { ...signing, 'user.signingKey': 'x' }, proof: commit },
  { key: 'gpg.x509.program', also: { ...signing, 'gpg.format': 'x509' }, proof: commit },
  { key: 'gpg.ssh.program', also: { ...signing, 'gpg.format': 'ssh' }, proof: commit },
  {
    key: 'gpg.ssh.defaultKeyCommand',
    also: { 'commit.gpgSign': 'true', 'gpg.format': 'ssh' },
    proof: commit,
  },
  { key: 'trailer.sign.command', proof: 'echo x | git interpret-trailers --trailer sign=x' },
  { key: 'trailer.sign.cmd', proof: 'echo x | git interpret-trailers --trailer sign=x' },
  { key: 'tar.evil.command', proof: 'git archive --format=evil HEAD' },
  { key: 'remote.evil.uploadpack', also: remote, proof: 'git ls-remote evil' },
  { key: 'remote.evil.receivepack', also: remote, proof: 'git push evil HEAD:refs/heads/x' },
  {
    key: 'remote.evil.url',
    value: 'ext::RUN x',
    also: { 'protocol.ext.allow': 'always' },
    proof: 'git ls-remote evil',
  },
  {
    key: 'url.ext::RUN .insteadOf',
    value: 'evil:',
    also: { 'protocol.ext.allow': 'always' },
    proof: 'git ls-remote evil:x',
  },
  { key: 'remote.evil.vcs', also: remote, never: 'names a program git-remote-… that must be in the path' },
  { key: 'remote.evil.proxy', also: remote, never: 'an address' },
  { key: 'http.proxy', never: 'an address' },
  { key: 'uploadpack.packObjectsHook', never: 'read from the configuration of the person only' },
  { key: 'init.templateDir', value: 'HOOKS', never: 'hooks are copied from there, and run later' },
  { key: 'commit.template', never: 'a text' },
  { key: 'hook.evil.command', also: { 'hook.evil.event': 'pre-commit' }, never: 'newer versions of git' },
  { key: 'core.virtualFilesystem', never: 'other editions of git' },
  { key: 'browser.evil.cmd', also: { 'web.browser': 'evil' }, proof: 'git web--browse http://127.0.0.1' },
  {
    key: 'web.browser',
    value: 'evil',
    also: { 'browser.evil.cmd': 'RUN' },
    proof: 'git web--browse http://127.0.0.1',
  },
  {
    key: 'browser.w3m.path',
    also: { 'web.browser': 'w3m' },
    proof: 'git web--browse http://127.0.0.1',
  },
  {
    key: 'help.browser',
    value: 'evil',
    also: { 'browser.evil.cmd': 'RUN' },
    proof: 'git web--browse -c help.browser http://127.0.0.1',
  },
  { key: 'man.evil.cmd', also: { 'man.viewer': 'evil' }, proof: 'git help -m diff' },
  { key: 'man.woman.path', never: 'the path of an editor that git help starts' },
  { key: 'guitool.evil.cmd', never: ownProgram },
  { key: 'imap.tunnel', never: ownProgram },
  { key: 'instaweb.browser', never: ownProgram },
  { key: 'instaweb.httpd', never: ownProgram },
  { key: 'sendemail.smtpServer', never: ownProgram },
  { key: 'sendemail.toCmd', never: ownProgram },
  { key: 'sendemail.ccCmd', never: ownProgram },
  { key: 'sendemail.headerCmd', never: ownProgram },
  { key: 'sendemail.sendmailCmd', never: ownProgram },
  { key: 'gitcvs.dbDriver', never: ownProgram },
  { key: 'submodule.sub.update', value: '!RUN', never: 'see the submodule among the layouts' },
]

/** Keys of `git help -c` whose names suggest a program, although they name none. */
export const harmlessKeys: ReadonlySet<string> = new Set([
  'advice.ignoredHook',
  'advice.pushRefNeedsUpdate',
  'advice.updateSparsePath',
  'advice.waitingForEditor',
  'bundle.*',
  'bundle.<id>.*',
  'clone.filterSubmodules',
  'color.pager',
  'column.clean',
  'completion.commands',
  'core.quotePath',
  'credential.useHttpPath',
  'diff.<driver>.cachetextconv',
  'feature.*',
  'fsck.gitmodulesPath',
  'fsck.gitmodulesUpdate',
  'gui.newBranchTemplate',
  'help.htmlPath',
  'http.<url>.*',
  'http.sslCAPath',
  'include.path',
  'includeIf.<condition>.path',
  'instaweb.modulePath',
  'notes.rewrite.<command>',
  'receive.fsck.gitmodulesPath',
  'receive.fsck.gitmodulesUpdate',
  'receive.shallowUpdate',
  'remote.<name>.partialclonefilter',
  'remote.<name>.skipDefaultUpdate',
  'rerere.autoUpdate',
  'sendemail.<identity>.*',
  'sendemail.smtpsslcertpath',
  'status.relativePaths',
  'uploadpack.allowFilter',
  'uploadpackfilter.<filter>.allow',
])

/** Hooks from githooks(5), each with a plain git command that runs the hook. */
export const hostileHooks: Readonly<Record<string, string | undefined>> = {
  'applypatch-msg': 'git stash -q; git format-patch -1 --stdout side > p; git checkout -q HEAD~1; git am p',
  'pre-applypatch': 'git stash -q; git format-patch -1 --stdout side > p; git checkout -q HEAD~1; git am p',
  'post-applypatch': 'git stash -q; git format-patch -1 --stdout side > p; git checkout -q HEAD~1; git am p',
  'pre-commit': commit,
  'pre-merge-commit': 'git stash -q; git merge -s ours side',
  'prepare-commit-msg': commit,
  'commit-msg': commit,
  'post-commit': commit,
  'pre-rebase': 'git stash -q; git rebase side',
  'post-checkout': 'git stash -q; git checkout side',
  'post-merge': 'git stash -q; git merge -s ours -m x side',
  'pre-push': 'git push . HEAD:refs/heads/x',
  'pre-receive': 'git push . HEAD:refs/heads/x',
  update: 'git push . HEAD:refs/heads/x',
  'proc-receive': 'git config receive.procReceiveRefs refs/for; git push . HEAD:refs/for/x',
  'post-receive': 'git push . HEAD:refs/heads/x',
  'post-update': 'git push . HEAD:refs/heads/x',
  'reference-transaction': commit,
  'push-to-checkout':
    'git stash -q; git config receive.denyCurrentBranch updateInstead; git push . side~1:main -f',
  'pre-auto-gc': undefined,
  'post-rewrite': 'git commit --amend -m x',
  'sendemail-validate': undefined,
  'fsmonitor-watchman': 'git config core.fsmonitor .git/hooks/fsmonitor-watchman; git status',
  'p4-changelist': undefined,
  'p4-prepare-changelist': undefined,
  'p4-post-changelist': undefined,
  'p4-pre-submit': undefined,
  'post-index-change': 'git status',
}

/**
 * Names of filters. They are a separate case, because an earlier implementation split some of these names when it
 * passed them to git.
 */
export const filterNames = [
  'x=y',
  '=',
  'a=b=c',
  'x=y.clean',
  'a.b',
  'UPPER',
  'a"b',
  "it's",
  'back\\slash',
  'ü',
  ']',
  '#',
  ';',
]

export const hostileVariables = [
  'GIT_EXTERNAL_DIFF',
  'GIT_PAGER',
  'PAGER',
  'GIT_EDITOR',
  'VISUAL',
  'EDITOR',
  'GIT_SEQUENCE_EDITOR',
  'GIT_ASKPASS',
  'SSH_ASKPASS',
  'GIT_SSH',
  'GIT_SSH_COMMAND',
  'GIT_PROXY_COMMAND',
] as const
