// Spend the code that stands behind the # of the address; it is gone from the address bar first.
const code = decodeURIComponent(location.hash.slice(1));
if (code) {
  history.replaceState(null, "", location.pathname);
  document.getElementById("code").value = code;
  document.getElementById("door").submit();
}
