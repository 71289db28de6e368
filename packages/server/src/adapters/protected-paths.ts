/**
 * Files that make a program run something, or load settings, without anybody starting the project itself: of version
 * control, agents, editors, shells and package managers. No mode answers for a change of one, and no grant that does not
 * say so. Not among them: what runs only with the project (package.json, Makefile), and instructions for agents
 * (AGENTS.md, CLAUDE.md): they are words, and what they lead to is asked about. The list is in docs/permissions.md.
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
/** Two parts in a row, for whoever works in a home folder. */
const pairs =
  names(`.config/git .config/fish .config/nvim .config/autostart .config/systemd .config/environment.d
  .config/opencode .config/zed .local/bin library/launchagents`)

function names(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/))
}

/** By its parts alone, whatever the case: a path below a folder, or a whole one. */
export function isProtectedPath(path: string): boolean {
  const parts = path.split(/[\\/]+/).map(plainName)
  return parts.some((part, index) => {
    const next = parts[index + 1]
    // A working copy that Claude keeps there is a folder like any other.
    if (part === '.claude' && next === 'worktrees' && parts.length > index + 2) return false
    if (folders.has(part) || /^git~\d$/.test(part)) return true
    return files.has(part) ? next === undefined || next === '' : pairs.has(`${part}/${next}`)
  })
}

/** As the file systems that are least particular see it: no case, no invisible characters, no dots or streams at the end. */
function plainName(part: string): string {
  const shown = part.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const [name = ''] = shown.split(':')
  return name
    .replace(/[. ]+$/, '')
    .toUpperCase()
    .toLowerCase()
}
