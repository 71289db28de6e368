/**
 * Files that make a program run something or load settings without anybody starting the project: files of version
 * control, agents, editors, shells and package managers. Only the bypass mode, or a grant with `protected`, allows a
 * change of such a file without asking. Excluded are files that run only with the project (package.json, Makefile) and
 * instructions for agents (AGENTS.md, CLAUDE.md), which are plain text: the calls that they lead to are asked about.
 * The list is in docs/permissions.md.
 */
const folders =
  names(`.git .hg .svn .jj .claude .codex .gemini .opencode .qwen .cursor .agents .parley .zed .vscode .idea
  .fleet .devcontainer .husky .direnv .ssh .gnupg .vim .emacs.d`)
const files =
  names(`.mcp.json .claude.json opencode.json opencode.jsonc .envrc .gitconfig .gitmodules .npmrc .yarnrc
  .yarnrc.yml .pnpmfile.cjs bunfig.toml .pre-commit-config.yaml lefthook.yml .lefthook.yml .bashrc .bash_profile .bash_login
  .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc
  .ripgreprc .tmux.conf .screenrc .vimrc .gvimrc .exrc .nvimrc .nvim.lua .emacs .dir-locals.el .gdbinit .lldbinit .xprofile
  .xinitrc .xsession .xsessionrc`)
/** Two consecutive path segments, for sessions in a home folder. */
const pairs =
  names(`.config/git .config/fish .config/nvim .config/autostart .config/systemd .config/environment.d
  .config/opencode .config/zed .local/bin library/launchagents`)

function names(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/))
}

/**
 * True if a path is protected. Looks only at the path segments, case-insensitively. The path may be absolute or
 * relative.
 */
export function isProtectedPath(path: string): boolean {
  const parts = path.split(/[\\/]+/).map(plainName)
  return parts.some((part, index) => {
    const next = parts[index + 1]
    // A worktree in `.claude/worktrees` is an ordinary folder.
    if (part === '.claude' && next === 'worktrees' && parts.length > index + 2) return false
    if (folders.has(part) || /^git~\d$/.test(part)) return true
    return files.has(part) ? next === undefined || next === '' : pairs.has(`${part}/${next}`)
  })
}

/**
 * The name as the most lenient file systems see it: lower case, no invisible characters, no trailing dots or stream
 * names.
 */
function plainName(part: string): string {
  const shown = part.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const [name = ''] = shown.split(':')
  return name
    .replace(/[. ]+$/, '')
    .toUpperCase()
    .toLowerCase()
}
